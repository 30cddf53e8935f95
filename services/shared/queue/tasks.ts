import type { JetStreamPublishOptions } from '@nats-io/jetstream';
import type { testEvent, WebhookEvent } from '../api/webhook.ts';
import type { NatsSession } from '../nats/connect.ts';
import { isKeyPart } from '../nats/read-many.ts';
import { retryTransient } from '../nats/retry.ts';
import { laterSubject, streamNames, taskKinds, type TaskKind, taskSubject } from '../nats/streams.ts';

interface CaptureTask {
  readonly account: string;
  readonly uuid: string;
}

/**
 * Work that the leader of the fleet does at its time. A task names a capture and leaves it to the record what is to be
 * done, so that doing it twice, or late, is harmless. Times are Unix milliseconds.
 */
export type Task =
  /** Makes sure that the job of an accepted capture (revision 0), or of a refresh, is in the queue. */
  | (CaptureTask & { readonly kind: 'dispatch'; readonly revision: number })
  /** Removes the files of a capture that has expired or was deleted. */
  | (CaptureTask & { readonly kind: 'expiry' })
  /** Refreshes a capture whose interval has passed. */
  | (CaptureTask & { readonly kind: 'refresh' })
  | DeliveryTask
  | TestTask;

/** Delivers an event to the account holder's webhook. `attempt` counts from 1; the first one was due at `firstAt`. */
export interface DeliveryTask extends CaptureTask {
  readonly kind: 'webhook';
  readonly revision: number;
  readonly event: WebhookEvent;
  readonly occurredAt: number;
  /** Of which redelivery of the event it is part; absent: of its first delivery. */
  readonly redelivery?: number;
  readonly attempt: number;
  readonly firstAt: number;
  /** Host and port that it goes to. */
  readonly receiver: string;
}

/** Sends a test event, once. The uuid is that of the event: a version that does not know this finds no such capture. */
export interface TestTask extends Omit<DeliveryTask, 'event' | 'revision' | 'redelivery' | 'attempt'> {
  readonly event: typeof testEvent;
  readonly revision: 0;
  readonly attempt: 1;
  readonly url: string;
}

export type TaskOf<K extends TaskKind> = Extract<Task, { readonly kind: K }>;

/** Time limit for publishing a task while the server is unavailable. */
const publishTimeoutMs = 10_000;

/** Hands tasks over to the leader, now or later. Times and deadlines are Unix milliseconds by the server's clock. */
export class Tasks {
  readonly #session: NatsSession;

  constructor(session: NatsSession) {
    this.#session = session;
  }

  /** To be done at once. */
  publish(task: Task, deadline?: number): Promise<void> {
    return this.#publish(task, taskSubject(task.kind, nameOf(task)), {}, deadline);
  }

  /** Schedules a task for a time. Replaces a scheduled task of the same capture and kind. */
  schedule(task: Task, at: number, deadline?: number): Promise<void> {
    const name = nameOf(task);
    const schedule = { specification: new Date(at), target: taskSubject(task.kind, name) };
    return this.#publish(task, laterSubject(task.kind, name), { schedule }, deadline);
  }

  async #publish(
    task: Task,
    subject: string,
    options: Pick<JetStreamPublishOptions, 'schedule'>,
    deadline = this.#session.now() + publishTimeoutMs,
  ): Promise<void> {
    const { js, now } = this.#session;
    const expect = { streamName: streamNames.tasks };
    const body = JSON.stringify(task);
    await retryTransient((timeout) => js.publish(subject, body, { ...options, expect, timeout }), { deadline, now });
  }
}

/** The host and port of the address of a webhook. Throws when it is no address. */
export const receiverOf = (url: string): string => new URL(url).host;

/** The id of an event, the same in all attempts. It has no full stop: in what is signed, that ends the id. */
export const messageId = (uuid: string, refreshNumber: number) => `msg_${uuid}_${refreshNumber}`;

/** What the subjects of a task end with: one of the same name replaces it. */
export const nameOf = ({ account, uuid, revision = 0 }: CaptureTask & { readonly revision?: number }) =>
  `${account}.${uuid}.${revision}`;

/** Throws when the message is no task that this process knows. */
export function parseTask(data: Uint8Array): Task {
  const task = JSON.parse(new TextDecoder().decode(data)) as Task | null;
  if (typeof task !== 'object' || task === null || !taskKinds.includes(task.kind))
    throw new TypeError('the message is not a task');
  const { account, uuid } = task;
  if (typeof uuid !== 'string' || typeof account !== 'string' || !isKeyPart(account)) {
    throw new TypeError('the task names no capture');
  }
  if ((task.kind === 'dispatch' || task.kind === 'webhook') && !Number.isInteger(task.revision)) {
    throw new TypeError('the task names no revision');
  }
  if (task.kind === 'webhook' && typeof task.receiver !== 'string') throw new TypeError('the task names no receiver');
  return task;
}
