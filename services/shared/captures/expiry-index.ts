import type { NatsSession } from '../nats/connect.ts';
import { isKeyPart } from '../nats/read-many.ts';
import { retryTransient } from '../nats/retry.ts';
import { expirySubject } from '../nats/streams.ts';
import type { CaptureRef } from './captures.ts';
import { dayOf } from './times.ts';
import { timeOfUuid } from './uuid.ts';

/** A capture and the expiry of its file when the entry was written; Unix milliseconds. */
export interface Expiry {
  readonly account: string;
  readonly uuid: string;
  readonly expiresAt: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/**
 * Time up to which expiries are indexed by minute. Later expiries are indexed by day, and moved to their minutes before the day begins.
 * With this value, a file with the default lifetime of a day is written once, and there are at most about 1,600 minutes.
 */
export const nearMs = 26 * hourMs;

/** Time before the beginning of a day at which its entries are moved to their minutes. From then on, no entries are added to the day. */
export const expandAheadMs = nearMs - 24 * hourMs;

/** Timeout of writing an entry while the server is unavailable. */
const timeoutMs = 10_000;

/**
 * Index of captures by expiry. It is a stream with a subject for each minute, and for each day that is far away. The record decides, so
 * duplicate or early entries have no effect.
 */
export class ExpiryIndex {
  readonly #session: NatsSession;
  readonly #now: () => number;

  /** `now` in Unix milliseconds, by the clock of the servers. */
  constructor(session: NatsSession, now: () => number = session.now) {
    this.#session = session;
    this.#now = now;
  }

  /** Makes the leader check a capture at a time. A repetition has no further effect. */
  async add(
    { account, uuid }: CaptureRef,
    expiresAt: number,
    deadline = this.#session.now() + timeoutMs,
  ): Promise<void> {
    const expiry = { account, uuid, expiresAt };
    await this.write(expiry, subjectAt(expiresAt, this.#now()), deadline);
  }

  /** Writes an entry under a subject. */
  async write(expiry: Expiry, subject: string, deadline = this.#session.now() + timeoutMs): Promise<void> {
    // The id contains the subject: if its expiry is postponed, a capture may get another subject within the deduplication window.
    const msgID = `${subject}.${expiry.uuid}`;
    const publish = (timeout: number) => this.#session.js.publish(subject, encodeExpiry(expiry), { timeout, msgID });
    await retryTransient(publish, { deadline, now: this.#session.now });
  }
}

/** Returns the subject of the minute of a time. */
export function minuteSubject(time: number): string {
  const { day, minute } = digits(time);
  return expirySubject(day, minute);
}

/** Returns the start of the minute or day of a subject; NaN for any other subject. */
export function startOfSubject(subject: string): number {
  const [, year, month, day, hour = '00', minute = '00'] =
    /^[\w-]*expiry\.(\d{4})(\d\d)(\d\d)(?:\.(\d\d)(\d\d))?$/.exec(subject) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:00Z`);
}

export const endOfMinute = (subject: string): number => startOfSubject(subject) + minuteMs;

function subjectAt(expiresAt: number, now: number): string {
  return expiresAt - now < nearMs ? minuteSubject(expiresAt) : expirySubject(digits(expiresAt).day);
}

function digits(time: number): { day: string; minute: string } {
  const text = new Date(time).toISOString();
  return { day: dayOf(time), minute: text.slice(11, 13) + text.slice(14, 16) };
}

/** Each stored capture has an entry, so entries are short. */
const encodeExpiry = ({ account, uuid, expiresAt }: Expiry) => `${account}.${uuid}.${expiresAt}`;

/** Returns null for an invalid entry. */
export function parseExpiry(data: Uint8Array): Expiry | null {
  const [account = '', uuid = '', time = ''] = new TextDecoder().decode(data).split('.');
  const expiresAt = Number(time);
  if (!isKeyPart(account) || timeOfUuid(uuid) === null || !Number.isSafeInteger(expiresAt)) return null;
  return { account, uuid, expiresAt };
}
