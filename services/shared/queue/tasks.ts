import type { JetStreamPublishOptions } from '@nats-io/jetstream';
import type { RecordEvent, testEvent } from '../api/webhook.ts';
import type { NatsSession } from '../nats/connect.ts';
import { isKeyPart } from '../nats/read-many.ts';
import { retryTransient } from '../nats/retry.ts';
import { laterSubject, streamNames, taskKinds, type TaskKind, taskSubject } from '../nats/streams.ts';

interface CaptureTask {
  readonly account: string;
  readonly uuid: string;
}

/**
 * Scheduled work of the leader of the fleet. A task names a capture, and the record of the capture determines what is done. A repeated or
 * late task therefore does no harm. Times are in Unix milliseconds.
 */
export type Task =
  /** Ensures that the job of an accepted capture (revision 0), or of a refresh, is in the queue. */
  | (CaptureTask & { readonly kind: 'dispatch'; readonly revision: number })
  /** Removes the files of a capture that has expired or was deleted. */
  | (CaptureTask & { readonly kind: 'expiry' })
  /** Refreshes a capture whose refresh is due. */
  | (CaptureTask & { readonly kind: 'refresh' })
  /** Checks whether a batch has ended; `uuid` is that of the batch. `witness` is a capture that had not ended at the last check. */
  | (CaptureTask & { readonly kind: 'batch'; readonly witness?: string })
  | DeliveryTask
  | TestTask;

/** Delivers an event to the account holder's webhook. `attempt` counts from 1. The first attempt was due at `firstAt`. */
export interface DeliveryTask extends CaptureTask {
  readonly kind: 'webhook';
  readonly revision: number;
  readonly event: RecordEvent;
  readonly occurredAt: number;
  /** Number of the redelivery of the event; absent for its first delivery. */
  readonly redelivery?: number;
  readonly attempt: number;
  readonly firstAt: number;
  /** Host and port of the receiver. */
  readonly receiver: string;
}

/**
 * Sends a test event in one attempt. The uuid identifies the event. An older version of the controller finds no capture with this uuid and
 * drops the task.
 */
export interface TestTask extends Omit<DeliveryTask, 'event' | 'revision' | 'redelivery' | 'attempt'> {
  readonly event: typeof testEvent;
  readonly revision: 0;
  readonly attempt: 1;
  readonly url: string;
}

export type TaskOf<K extends TaskKind> = Extract<Task, { readonly kind: K }>;

/** Time limit for publishing a task while the server is unavailable. */
const publishTimeoutMs = 10_000;

/** Queues tasks for the leader, immediately or at a time. Times and deadlines are Unix milliseconds by the server's clock. */
export class Tasks {
  readonly #session: NatsSession;

  constructor(session: NatsSession) {
    this.#session = session;
  }

  /** Queues a task that is due immediately. */
  publish(task: Task, deadline?: number): Promise<void> {
    return this.#publish(task, taskSubject(task.kind, nameOf(task)), {}, deadline);
  }

  /** Schedules a task for a time. An earlier task of the same capture and kind is replaced. */
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

/** Returns the host and port of the address of a webhook. Throws if the address is invalid. */
export const receiverOf = (url: string): string => new URL(url).host;

/** Returns the id of an event, which is the same in all attempts. It contains no dot, because a dot ends the id in the signed text. */
export const messageId = (uuid: string, refreshNumber: number) => `msg_${uuid}_${refreshNumber}`;

/** Returns the name of a task, which is the last part of its subjects. A task replaces an earlier one with the same name. */
export const nameOf = ({ account, uuid, revision = 0 }: CaptureTask & { readonly revision?: number }) =>
  `${account}.${uuid}.${revision}`;

/** Parses a task. Throws if the message is not a task of a known kind. */
export function parseTask(data: Uint8Array): Task {
  const task = JSON.parse(new TextDecoder().decode(data)) as Task | null;
  if (typeof task !== 'object' || task === null || !taskKinds.includes(task.kind))
    throw new TypeError('the message is not a task');
  const { account, uuid } = task;
  if (typeof uuid !== 'string' || typeof account !== 'string' || !isKeyPart(account)) {
    throw new TypeError('the task has no valid capture');
  }
  if ((task.kind === 'dispatch' || task.kind === 'webhook') && !Number.isInteger(task.revision)) {
    throw new TypeError('the task has no valid revision');
  }
  if (task.kind === 'webhook' && typeof task.receiver !== 'string') throw new TypeError('the task has no receiver');
  return task;
}
