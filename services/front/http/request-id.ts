import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The id of a request: a new one, or behind a trusted proxy the one that it has given, if it is harmless. */
export function requestIdGenerator(trustProxy: boolean): (request: Pick<IncomingMessage, 'headers'>) => string {
  return ({ headers }) => {
    const given = trustProxy ? headers['x-request-id'] : undefined;
    return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID();
  };
}
