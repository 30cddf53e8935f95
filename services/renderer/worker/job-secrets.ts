import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import {
  type SealedSecrets,
  type SecretsKeys,
  SecretsLockedError,
} from '@webcapture/shared/captures/sealed-secrets.ts';
import type { SessionState } from '@webcapture/shared/captures/session-state.ts';
import { sessionOwner } from '@webcapture/shared/captures/sessions.ts';
import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';

interface KeysDeps {
  readonly secretsKeys?: SecretsKeys | undefined;
}

/**
 * Returns the decrypted secrets of a job, with the state of its session; undefined if it has neither.
 *
 * @throws ServiceError SESSION_NOT_FOUND; CAPTURE_FAILED if they were not kept, or cannot be opened
 */
export function openSecrets(job: CaptureJob, deps: KeysDeps): CaptureSecrets | undefined {
  const { session, options, account } = job;
  const own = openOwnSecrets(job, deps);
  if (options.session === undefined) return own;
  if (session === undefined) throw new ServiceError('SESSION_NOT_FOUND');
  const owner = sessionOwner(account, options.session);
  const state = opened('session', deps, (keys) => keys.open<SessionState>(session, owner));
  return { ...own, session: state };
}

const names = 'headers, cookies, auth, css, script, pdf.encryption or values of steps';

function openOwnSecrets({ secrets, options, account, uuid }: CaptureJob, deps: KeysDeps): CaptureSecrets | undefined {
  if (secrets === undefined) {
    if (options.secrets === undefined) return undefined;
    throw new ServiceError('CAPTURE_FAILED', `The ${names} of this capture were not kept.`, { causedBy: 'service' });
  }
  return 'clear' in secrets ? secrets.clear : opened(names, deps, (keys) => keys.open(secrets, { account, uuid }));
}

/**
 * Returns a function that seals the state of the session for which a job logs in.
 *
 * @throws ServiceError CAPTURE_FAILED if the renderer has no key
 */
export function stateSealer({ account, uuid }: CaptureJob, deps: KeysDeps): (state: SessionState) => SealedSecrets {
  return opened('session', deps, (keys) => (state) => keys.seal(state, sessionOwner(account, uuid)));
}

/** Uses the keys. An error names what cannot be opened. */
function opened<T>(what: string, { secretsKeys }: KeysDeps, use: (keys: SecretsKeys) => T): T {
  try {
    if (secretsKeys === undefined) throw new SecretsLockedError('WEBCAPTURE_SECRETS_KEY is not set');
    return use(secretsKeys);
  } catch (cause) {
    if (!(cause instanceof SecretsLockedError)) throw cause;
    throw new ServiceError(
      'CAPTURE_FAILED',
      `The ${what} of this capture cannot be opened: the renderer does not have the key that they were sealed with (WEBCAPTURE_SECRETS_KEY). If the operator has removed it, capture the page again with them.`,
      { causedBy: 'service', cause },
    );
  }
}
