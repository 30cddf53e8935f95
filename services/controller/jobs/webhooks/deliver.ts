import { Gauge, Histogram, type Registry } from 'prom-client';
import { signingSecrets } from '@webcapture/shared/accounts/rotated-secret.ts';
import type { WebhookSecrets } from '@webcapture/shared/accounts/webhook-secrets.ts';
import type { Delivery } from '@webcapture/shared/api/delivery.ts';
import { deliveryEvents, testEvent } from '@webcapture/shared/api/webhook.ts';
import type { DeliveryEntry, WebhookDelivery } from '@webcapture/shared/captures/capture-record.ts';
import { isSuperseded } from '@webcapture/shared/captures/transitions.ts';
import type { EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { Upstream } from '@webcapture/shared/egress/upstream.ts';
import { pendingDelivery } from '@webcapture/shared/queue/follow-ups.ts';
import type { DeliveryTask as WebhookTask, TaskOf, Tasks, TestTask } from '@webcapture/shared/queue/tasks.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Term } from '../../leader/election.ts';
import { counterOf } from '../../metrics.ts';
import { TaskDeferredError } from '../tasks.ts';
import type { DeliveryLog } from './delivery-log.ts';
import { type SignedEvent, signTest } from './event.ts';
import { type EventRecord, type EventSourceDeps, eventSourceOf } from './event-source.ts';
import type { ReceiverLimits } from './receiver-limits.ts';
import { sendEvent, type AttemptResult } from './send.ts';

/** One attempt to deliver an event; all times are Unix milliseconds. */
export type DeliveryTask = Omit<WebhookTask, 'kind' | 'receiver'>;

/** What follows an attempt: either nothing, or the next attempt with its due time. The next attempt may belong to another delivery. */
export type NextAttempt =
  | { readonly done: true }
  | ({ readonly againAt: number } & Pick<DeliveryTask, 'attempt'> &
      Partial<Pick<DeliveryTask, 'redelivery' | 'firstAt'>>);

export interface AttemptDeps extends EventSourceDeps {
  readonly secrets: WebhookSecrets;
  readonly send: (url: string, event: SignedEvent) => Promise<AttemptResult>;
  readonly webhookMetrics: WebhookMetrics;
  readonly deliveryLog: DeliveryLog;
  readonly log: Pick<Logger, 'info' | 'debug'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export interface DeliverDeps extends Omit<AttemptDeps, 'send'> {
  readonly tasks: Tasks;
  readonly policy: EgressPolicy;
  readonly upstream?: Upstream | undefined;
  readonly receivers: ReceiverLimits;
}

/** The result of an attempt that is skipped. */
const skipped: AttemptResult = {
  delivered: false,
  reason: 'not sent: the receiver did not respond to other events',
  gone: false,
  isSkipped: true,
};

/**
 * Makes one delivery attempt and schedules the next one. The end of the term aborts the attempt, which then does not
 * count. Throws a {@link TaskDeferredError} when the receiver is at its limit.
 */
export async function deliverWebhook(task: TaskOf<'webhook'>, deps: DeliverDeps, { signal }: Pick<Term, 'signal'>) {
  const { receivers, policy, upstream, tasks } = deps;
  const turn = receivers.ask(task, attemptDueAt(task));
  if (turn.verdict === 'defer')
    throw new TaskDeferredError('the webhook receiver is at its limit of concurrent attempts', turn.retryInMs);
  const send = async (url: string, event: SignedEvent) => {
    if (turn.verdict === 'skip') return skipped;
    const startedAt = performance.now();
    const result = await sendEvent(url, event, { policy, upstream, signal });
    turn.end(result, performance.now() - startedAt);
    return result;
  };
  try {
    if (task.event === testEvent) return await deliverTest(task, { ...deps, send });
    const next = await attemptDelivery(task, { ...deps, send });
    if ('done' in next) return;
    const { againAt, ...attempt } = next;
    await tasks.schedule({ ...task, ...attempt }, againAt);
  } finally {
    if (turn.verdict === 'send') turn.release();
  }
}

const done: NextAttempt = { done: true };

/**
 * Makes one delivery attempt, and writes the state of the delivery into the record. If a worker dies after an attempt, its task is
 * redelivered; the attempt is not repeated if the record contains it. A task that a redelivery request has replaced is not attempted.
 * Throws if the record or the secret cannot be read, or the record cannot be written. The task is then redelivered, and the receiver may
 * get the same event twice.
 */
export async function attemptDelivery(task: DeliveryTask, deps: AttemptDeps): Promise<NextAttempt> {
  const { secrets, now } = deps;
  const { account, uuid, revision } = task;
  const source = await eventSourceOf(task, deps);
  const record = source?.record;
  if (source === null || record?.webhook === undefined) return done;
  if (isSuperseded(record.webhook, task)) return asRedelivery(record, now());
  const known = alreadyAttempted(record.webhook, task);
  if (known !== null) return known;

  const startedAt = now();
  const signing = signingSecrets(await secrets.get(account), startedAt);
  const event = await source.sign({ now: startedAt, secrets: signing });
  const { url } = record.webhook;
  const result = await deps.send(url, event);
  const endedAt = now();

  const againAt = result.delivered || result.gone ? null : nextAttemptAt(task.attempt, task.firstAt, endedAt);
  const delivery = deliveryAfter(record.webhook, task, result, { startedAt, againAt });
  const attempt = { event: task.event, revision, attempt: task.attempt };
  const entry = { ...attempt, at: startedAt, ...outcomeOf(result, { startedAt, endedAt, isLast: againAt === null }) };
  const noted = await source.note(delivery, entry);
  deps.deliveryLog.note(account, deliveryOf({ uuid, url }, entry));
  recordAttempt(deps, task, record, result, againAt, (now() - startedAt) / 1000);
  if (noted?.webhook !== undefined && isSuperseded(noted.webhook, task)) return asRedelivery(noted, now());
  return againAt === null ? done : { againAt, attempt: task.attempt + 1 };
}

/** Time after which the task of a requested redelivery has made its attempt, which takes at most ten seconds. */
const redeliveryDueMs = 15_000;

/**
 * Returns the attempt for a redelivery that was requested after this task was scheduled. The redelivery may have no task of its own: the
 * requesting process died before it scheduled one, or this task replaced it. A redelivery that was already attempted is not repeated.
 */
function asRedelivery(record: EventRecord, now: number): NextAttempt {
  const task = pendingDelivery(record);
  if (task === null) return done;
  const { attempt, redelivery = 0 } = task;
  return { againAt: record.webhook?.nextAttemptAt ?? now + redeliveryDueMs, attempt, redelivery, firstAt: now };
}

/** Sends a test event in one attempt. It is not retried, because its requester looks at the outcome. */
async function deliverTest(task: TestTask, { secrets, deliveryLog, webhookMetrics, send, now }: AttemptDeps) {
  const { account, url, event, revision, attempt } = task;
  const startedAt = now();
  const signing = signingSecrets(await secrets.get(account), startedAt);
  const result = await send(url, signTest(task, { now: startedAt, secrets: signing }));
  const outcome = outcomeOf(result, { startedAt, endedAt: now(), isLast: true });
  deliveryLog.note(account, deliveryOf({ uuid: null, url }, { event, revision, attempt, at: startedAt, ...outcome }));
  webhookMetrics.attempts.inc({ event, outcome: result.delivered ? 'delivered' : 'given_up' });
  webhookMetrics.seconds.observe((now() - startedAt) / 1000);
}

/** Returns the outcome of an attempt for the histories. */
function outcomeOf(
  result: AttemptResult,
  { startedAt, endedAt, isLast }: { startedAt: number; endedAt: number; isLast: boolean },
) {
  const isSkipped = !result.delivered && result.isSkipped === true;
  return {
    state: result.delivered ? ('delivered' as const) : isLast ? ('failed' as const) : ('retrying' as const),
    ...(result.status === undefined ? {} : { status: result.status }),
    ...(result.delivered ? {} : { error: result.reason }),
    ...(isSkipped ? {} : { durationMs: Math.max(0, Math.round(endedAt - startedAt)) }),
  };
}

/** Returns the delivery as the account holder sees it. */
function deliveryOf(
  about: Pick<Delivery, 'uuid' | 'url'>,
  entry: Omit<DeliveryEntry, 'event'> & Pick<Delivery, 'event'>,
): Delivery {
  const { event, revision, attempt, at, state, status = null, error = null, durationMs = null } = entry;
  return { ...about, event, revision, attempt, at: new Date(at).toISOString(), state, status, error, durationMs };
}

/**
 * Returns what the record contains about this attempt. Returns null if the attempt was not made, or if the record is about another event.
 */
function alreadyAttempted(delivery: WebhookDelivery, { revision, attempt }: DeliveryTask): NextAttempt | null {
  if (delivery.revision !== revision || delivery.attempts < attempt) return null;
  return delivery.nextAttemptAt === undefined
    ? done
    : { againAt: delivery.nextAttemptAt, attempt: delivery.attempts + 1 };
}

function deliveryAfter(
  { url }: WebhookDelivery,
  { event, revision, occurredAt, redelivery, attempt }: DeliveryTask,
  result: AttemptResult,
  { startedAt, againAt }: { startedAt: number; againAt: number | null },
): WebhookDelivery {
  const about = { url, event, revision, occurredAt, ...(redelivery === undefined ? {} : { redelivery }) };
  const common = { ...about, attempts: attempt, lastAttemptAt: startedAt };
  if (result.delivered) return { ...common, state: 'delivered', lastStatus: result.status };
  return {
    ...common,
    state: againAt === null ? 'failed' : 'pending',
    ...(result.status === undefined ? {} : { lastStatus: result.status }),
    lastError: result.reason,
    ...(againAt === null ? {} : { nextAttemptAt: againAt }),
  };
}

function recordAttempt(
  { webhookMetrics, log }: AttemptDeps,
  { event, attempt }: DeliveryTask,
  { uuid, account }: EventRecord,
  result: AttemptResult,
  againAt: number | null,
  seconds: number,
): void {
  const outcome = result.delivered ? 'delivered' : againAt === null ? 'given_up' : 'retried';
  webhookMetrics.attempts.inc({ event, outcome });
  webhookMetrics.seconds.observe(seconds);
  if (result.delivered) return;
  const facts = { uuid, account, event, attempt, reason: result.reason, err: result.cause };
  if (againAt === null) log.info(facts, 'webhook event not delivered; no attempts remain');
  else log.debug(facts, 'webhook delivery attempt failed; retrying');
}

const [second, minute, hour] = [1000, 60_000, 3_600_000] as const;

/** Due times of the attempts in milliseconds after the first: eight attempts in 24 hours. */
export const attemptOffsets = [0, 10 * second, minute, 10 * minute, hour, 4 * hour, 12 * hour, 24 * hour] as const;

/**
 * Returns when the next attempt is due after `attempts` failed ones; null after the last. All times are Unix milliseconds. Attempts can be
 * late because no controller led. The next interval is then at least half of the usual one. Otherwise the receiver, which may be down for
 * the same reason, would get all remaining attempts within a few seconds.
 */
export function nextAttemptAt(attempts: number, firstAt: number, now: number): number | null {
  const offset = attemptOffsets[attempts];
  if (offset === undefined) return null;
  const distance = offset - (attemptOffsets[attempts - 1] ?? 0);
  return Math.max(firstAt + offset, now + distance / 2);
}

/** Returns the earliest due time of an attempt in Unix milliseconds. */
export const attemptDueAt = ({ attempt, firstAt }: { readonly attempt: number; readonly firstAt: number }): number =>
  firstAt + (attemptOffsets[attempt - 1] ?? 0);

type WebhookMetrics = ReturnType<typeof createWebhookMetrics>;

/** @param unavailable returns the number of unavailable receivers */
export function createWebhookMetrics(registry: Registry, unavailable: () => number) {
  const registers = [registry];
  void new Gauge({
    name: 'webcapture_webhook_receivers_unavailable',
    help: 'Webhook receivers that failed to respond to several consecutive attempts and get attempts one by one. Set by the leader.',
    registers,
    collect() {
      this.set(unavailable());
    },
  });
  return {
    attempts: counterOf(
      registry,
      'webcapture_webhook_attempts_total',
      'Webhook delivery attempts, by event and outcome: delivered, retried or given_up.',
      {
        event: deliveryEvents,
        outcome: ['delivered', 'retried', 'given_up'],
      },
    ),
    seconds: new Histogram({
      name: 'webcapture_webhook_attempt_seconds',
      help: 'Duration of a webhook delivery attempt, from the DNS lookup to the response of the receiver.',
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
  };
}
