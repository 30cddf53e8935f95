import { begin } from '@webcapture/shared/captures/transitions.ts';
import { Dispatcher, type DispatcherDeps } from './dispatcher.ts';
import { type ReceivedReply, ReplyInbox } from './reply-inbox.ts';
import { ResultQueue, type ResultQueueDeps } from './result-queue.ts';
import { ResultSettler, type SettlementDeps } from './settlement.ts';

type DispatcherParts = SettlementDeps &
  Omit<DispatcherDeps, 'inbox' | 'settlements' | 'maxPayload' | 'now'> &
  Omit<ResultQueueDeps, 'settlements' | 'removeHtml'>;

/** Creates the dispatcher, which sends jobs of waiting clients to renderers, and the queue of results, which settles all others. */
export function createDispatcher(parts: DispatcherParts) {
  const { session, captures, tickets, htmlStore, onSettled, onMalformed, log } = parts;
  const settlements = new ResultSettler(parts);
  const onStarted = async ({ result, region }: ReceivedReply) => {
    const ticket = await tickets.open(result.ticket);
    if (ticket?.region !== region) onSettled({ outcome: 'forged', region, tokens: 0 });
    // An interactive capture has no record yet.
    else if (result.outcome.kind === 'started' && ticket.draft === undefined) {
      await captures.change(ticket, begin(ticket.revision));
    }
  };
  const inbox = new ReplyInbox(session, {
    log,
    onMalformed,
    onStarted: (reply) =>
      void onStarted(reply).catch((error: unknown) =>
        log.debug({ err: error }, 'the start of a rendering could not be recorded'),
      ),
  });
  const dispatcher = new Dispatcher({
    ...parts,
    settlements,
    inbox,
    maxPayload: () => session.nc.info?.max_payload ?? 0,
    now: session.now,
  });
  const resultQueue = new ResultQueue({ ...parts, settlements, removeHtml: (name) => htmlStore.remove(name) });
  return { dispatcher, resultQueue };
}
