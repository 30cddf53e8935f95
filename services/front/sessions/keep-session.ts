import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import {
  type SealedSecrets,
  type SecretsKeys,
  SecretsLockedError,
} from '@webcapture/shared/captures/sealed-secrets.ts';
import { type SessionState, sessionStateSchema } from '@webcapture/shared/captures/session-state.ts';
import { sessionOwner, type Sessions } from '@webcapture/shared/captures/sessions.ts';
import { maxSessionBytes } from '@webcapture/shared/queue/outcomes.ts';
import { Compile } from 'typebox/schema';

const validator = Compile(sessionStateSchema);

const maxSites = 50;

/**
 * Stores the session of a capture that logs in, before the record of the capture is written. A page may have compromised the renderer, so
 * the front checks the state and seals it again.
 *
 * @param loggedInAt Unix milliseconds
 * @returns true if the session is stored or the capture does not log in; false if the renderer did not return a valid state
 */
export async function keepSession(
  { account, uuid, url, login }: CaptureRecord,
  sealed: SealedSecrets | undefined,
  loggedInAt: number,
  { sessions, secretsKeys }: { readonly sessions: Sessions; readonly secretsKeys?: SecretsKeys | undefined },
): Promise<boolean> {
  if (login === undefined) return true;
  if (sealed === undefined || secretsKeys === undefined) return false;
  const owner = sessionOwner(account, uuid);
  const state = openState(sealed, (each) => secretsKeys.open<SessionState>(each, owner));
  if (state === null) return false;
  const { name, lifetimeMs } = login;
  const expiresAt = Math.round(loggedInAt + lifetimeMs);
  const record = { uuid, account, ...(name === undefined ? {} : { name }), url, sites: sitesOf(state), expiresAt };
  await sessions.create(record, secretsKeys.seal(state, owner));
  return true;
}

function openState(sealed: SealedSecrets, open: (sealed: SealedSecrets) => SessionState): SessionState | null {
  try {
    const state = open(sealed);
    const isValid = validator.Check(state) && state.origins.every(({ origin }) => URL.parse(origin)?.origin === origin);
    return isValid && Buffer.byteLength(JSON.stringify(state)) <= maxSessionBytes ? state : null;
  } catch (error) {
    if (error instanceof SecretsLockedError) return null;
    throw error;
  }
}

/** Returns the hosts of the cookies and of the storage, up to {@link maxSites}. */
function sitesOf({ cookies, origins }: SessionState): readonly string[] {
  const hosts = [
    ...origins.map(({ origin }) => new URL(origin).hostname),
    ...cookies.map(({ domain }) => domain.replace(/^\./, '')),
  ];
  return [...new Set(hosts)].slice(0, maxSites);
}
