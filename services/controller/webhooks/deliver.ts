import type { CaptureRecord, WebhookDelivery } from '@webcapture/shared/contract/capture-record.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import { signingSecrets, type WebhookSecrets } from '@webcapture/shared/state/webhook-secrets.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { buildNotice, type Notice, type NoticeSubject } from './build-notice.ts';
import type { WebhookMetrics } from './metrics.ts';
import { nextAttemptAt } from './retry-schedule.ts';
import type { SendResult } from './send-notice.ts';

/** One try of one notice. All times are Unix milliseconds. */
export interface NoticeTask extends NoticeSubject {
  readonly account: string;
  readonly uuid: string;
  /** Which try it is, from 1. */
  readonly attempt: number;
  /** When the first try was due. */
  readonly firstAt: number;
}

/** Nothing is left to do; or when to come again, and as which try. */
export type NextTry = { readonly done: true } | { readonly againAt: number; readonly attempt: number };

export interface DeliverDeps {
  readonly captures: Pick<Captures, 'get'>;
  readonly secrets: Pick<WebhookSecrets, 'get'>;
  readonly send: (url: string, notice: Notice) => Promise<SendResult>;
  /**
   * Puts `delivery` in the place of the record's, if the record still tells of that revision: a later event has its own.
   * It may be repeated.
   */
  readonly note: (account: string, uuid: string, revision: number, delivery: WebhookDelivery) => Promise<unknown>;
  readonly cdnUrl: string;
  readonly metrics: Pick<WebhookMetrics, 'tried'>;
  readonly log: Pick<Logger, 'info' | 'debug'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const done: NextTry = { done: true };

/**
 * Makes one try, and writes into the record how the delivery stands. A task that comes twice, since its worker died after
 * the try, is not tried twice when the record tells of it. Throws when the record, the secret or the note cannot be read
 * or written: then the task must come again, and the receiver may hear the same notice twice.
 */
export async function deliverNotice(task: NoticeTask, deps: DeliverDeps): Promise<NextTry> {
  const { captures, secrets, note, cdnUrl, now } = deps;
  const { account, uuid, revision } = task;
  const record = (await captures.get(account, uuid))?.value;
  if (record?.webhook === undefined || record.status === 'deleted') return done;
  const known = alreadyTried(record.webhook, task);
  if (known !== null) return known;

  const startedAt = now();
  const signing = signingSecrets(await secrets.get(account), startedAt);
  const notice = buildNotice(record, task, { cdnUrl, now: startedAt, secrets: signing });
  const result = await deps.send(record.webhook.url, notice);

  const againAt = result.delivered || result.gone ? null : nextAttemptAt(task.attempt, task.firstAt, now());
  await note(account, uuid, revision, deliveryAfter(record.webhook, task, result, { startedAt, againAt }));
  tell(deps, task, record, result, againAt, (now() - startedAt) / 1000);
  return againAt === null ? done : { againAt, attempt: task.attempt + 1 };
}

/** What the record says of this try; null when it has not been made, or when the record tells of another event. */
function alreadyTried(delivery: WebhookDelivery, { revision, attempt }: NoticeTask): NextTry | null {
  if (delivery.revision !== revision || delivery.attempts < attempt) return null;
  return delivery.nextAttemptAt === undefined
    ? done
    : { againAt: delivery.nextAttemptAt, attempt: delivery.attempts + 1 };
}

function deliveryAfter(
  { url }: WebhookDelivery,
  { event, revision, occurredAt, attempt }: NoticeTask,
  result: SendResult,
  { startedAt, againAt }: { startedAt: number; againAt: number | null },
): WebhookDelivery {
  const common = { url, event, revision, occurredAt, attempts: attempt, lastAttemptAt: startedAt };
  if (result.delivered) return { ...common, state: 'delivered', lastStatus: result.status };
  return {
    ...common,
    state: againAt === null ? 'failed' : 'pending',
    ...(result.status === undefined ? {} : { lastStatus: result.status }),
    lastError: result.reason,
    ...(againAt === null ? {} : { nextAttemptAt: againAt }),
  };
}

function tell(
  { metrics, log }: DeliverDeps,
  { event, attempt }: NoticeTask,
  { uuid, account }: CaptureRecord,
  result: SendResult,
  againAt: number | null,
  seconds: number,
): void {
  const outcome = result.delivered ? 'delivered' : againAt === null ? 'given_up' : 'retried';
  metrics.tried(event, outcome, seconds);
  if (result.delivered) return;
  const facts = { uuid, account, event, attempt, reason: result.reason, err: result.cause };
  if (againAt === null) log.info(facts, 'gave a webhook up');
  else log.debug(facts, 'a webhook was not delivered; it is tried again');
}
