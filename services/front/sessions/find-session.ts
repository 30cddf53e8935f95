import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { SessionRecord, Sessions } from '@webcapture/shared/captures/sessions.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { callNats } from '../nats.ts';

export interface FindSessionDeps {
  readonly sessions: Sessions;
}

/** @throws ServiceError SESSION_NOT_FOUND if the account has no such session; INTERNAL_ERROR if the session cannot be read */
export async function findSession(account: string, id: string, deps: FindSessionDeps): Promise<SessionRecord> {
  const found = await readSession(account, id, deps);
  if (found === null) throw new ServiceError('SESSION_NOT_FOUND');
  return found;
}

/** Returns null if the account has no such session. Throws ServiceError INTERNAL_ERROR if it cannot be read. */
export function readSession(account: string, id: string, { sessions }: FindSessionDeps): Promise<SessionRecord | null> {
  return callNats(() => sessions.get(account, id), 'The session cannot be read right now.');
}

/** Checks that the session that a request names belongs to the account. Throws as {@link findSession}. */
export async function assertSession(
  { session }: Pick<RenderOptions, 'session'>,
  account: string,
  deps: FindSessionDeps,
): Promise<void> {
  if (session !== undefined) await findSession(account, session, deps);
}
