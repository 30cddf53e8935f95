import { once } from 'node:events';
import type { PulledMessage, PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { PullSubscription } from '@webcapture/shared/nats/pull.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Term } from './election.ts';

/**
 * Passes the messages of a durable to `handle` during the term; `handle` must not throw. At the end of the term, pending requests are
 * cancelled, so that later messages go to the successor. Handlers that are running are awaited.
 */
export async function pullInTerm(
  options: {
    readonly inbox: PullInbox;
    readonly stream: string;
    readonly durable: string;
    /** Maximum number of messages handled concurrently. */
    readonly parallel: number;
    readonly log: Logger;
  },
  term: Term,
  handle: (message: PulledMessage) => Promise<void>,
): Promise<void> {
  const { inbox, stream, durable, parallel, log } = options;
  if (term.signal.aborted) return;
  const running = new Set<Promise<void>>();
  const subscription = new PullSubscription(inbox, {
    stream,
    durable,
    onMessage: (message) => {
      if (!term.holds()) return message.nak(1);
      const work = handle(message).finally(() => {
        running.delete(work);
        subscription.request(1);
      });
      running.add(work);
    },
    onProblem: (error) => {
      log.warn({ err: error, stream, durable }, 'pulling messages from a consumer failed; retrying');
    },
  });
  subscription.request(parallel);
  await once(term.signal, 'abort');
  subscription.close();
  await Promise.all(running);
}
