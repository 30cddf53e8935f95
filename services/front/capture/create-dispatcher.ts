import type { Cache } from '@webcapture/shared/captures/cache.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import type { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import { begin } from '@webcapture/shared/captures/transitions.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import type { Jobs } from '@webcapture/shared/queue/jobs.ts';
import type { Tasks } from '@webcapture/shared/queue/tasks.ts';
import type { Tickets } from '@webcapture/shared/queue/tickets.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ByteQuota } from '../byte-quota.ts';
import type { ConnectionMonitor } from '../nats.ts';
import { Dispatcher } from './dispatcher.ts';
import type { HtmlStore } from './publish-job.ts';
import type { InFlight, RegionSelector } from './regions.ts';
import { type ReceivedReply, ReplyInbox } from './reply-inbox.ts';
import { ResultQueue } from './result-queue.ts';
import { ResultSettler } from './settlement.ts';

interface DispatcherParts {
  readonly session: NatsSession;
  readonly link: ConnectionMonitor;
  readonly captures: Captures;
  readonly jobs: Jobs;
  readonly tasks: Tasks;
  readonly tickets: Tickets;
  readonly followUps: FollowUps;
  readonly cache: Cache;
  readonly store: FileStore;
  readonly htmlStore: HtmlStore;
  readonly regions: RegionSelector;
  readonly inFlight: InFlight;
  readonly byteQuota: ByteQuota;
  readonly secretsKeys: SecretsKeys | undefined;
  readonly queueTimeoutMs: number;
  readonly onSettled: ConstructorParameters<typeof ResultSettler>[0]['onSettled'];
  /** Called for each message from a renderer that is not a valid result. */
  readonly onMalformed: () => void;
  readonly log: Logger;
}

/** Creates the dispatcher, which sends jobs of waiting clients to renderers, and the queue of all other results. */
export function createDispatcher(parts: DispatcherParts) {
  const { session, link, captures, jobs, tickets, followUps, cache, store, htmlStore, log } = parts;
  const { onSettled, onMalformed } = parts;
  const settlements = new ResultSettler({
    captures,
    store,
    cache,
    tickets,
    byteQuota: parts.byteQuota,
    secretsKeys: parts.secretsKeys,
    onSettled,
    log,
  });
  const onStarted = async ({ result, region }: ReceivedReply) => {
    const ticket = await tickets.open(result.ticket);
    if (ticket?.region !== region) onSettled({ outcome: 'forged', region, tokens: 0 });
    // A capture that a client waits for has no record yet.
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
    captures,
    jobs,
    settlements,
    inbox,
    link,
    regions: parts.regions,
    inFlight: parts.inFlight,
    htmlStore,
    store,
    maxPayload: () => session.nc.info?.max_payload ?? 0,
    queueTimeoutMs: parts.queueTimeoutMs,
    now: () => session.now(),
    log,
  });
  const removeHtml = (name: string) => htmlStore.remove(name);
  const resultQueue = new ResultQueue({
    session,
    settlements,
    captures,
    followUps,
    jobs,
    tasks: parts.tasks,
    removeHtml,
    onMalformed,
    log,
  });
  return { dispatcher, resultQueue };
}
