import type { FastifyReply } from 'fastify';

/** Aborts when the connection is closed before the answer is out. */
export function clientGone({ raw }: FastifyReply): AbortSignal {
  const aborter = new AbortController();
  if (raw.destroyed && !raw.writableFinished) aborter.abort();
  raw.once('close', () => {
    if (!raw.writableFinished) aborter.abort();
  });
  return aborter.signal;
}
