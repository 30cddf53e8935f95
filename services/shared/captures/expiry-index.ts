import type { NatsSession } from '../nats/connect.ts';
import { isKeyPart } from '../nats/read-many.ts';
import { retryTransient } from '../nats/retry.ts';
import { expirySubject } from '../nats/streams.ts';
import type { CaptureRef } from './captures.ts';
import { dayOf } from './times.ts';
import { timeOfUuid } from './uuid.ts';

/** A capture, and when the time of its file was to be over as the entry was written; Unix milliseconds. */
export interface Expiry {
  readonly account: string;
  readonly uuid: string;
  readonly expiresAt: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/**
 * What expires later than this is noted by its day, and is moved to its minute before the day begins: a file of the
 * default lifetime of a day is written once, and there are never more than some 1,600 minutes.
 */
export const nearMs = 26 * hourMs;

/** A day's entries are moved to their minutes this long before it begins: from then on nothing is noted by that day. */
export const expandAheadMs = nearMs - 24 * hourMs;

/** How long noting an expiry may take while the server is unavailable. */
const timeoutMs = 10_000;

/**
 * Which captures expire when: a stream with a subject for each minute, and for each day that is far away. An entry only
 * says where to look: the record decides, so an entry that is there twice, or comes too early, does no harm.
 */
export class ExpiryIndex {
  readonly #session: NatsSession;
  readonly #now: () => number;

  /** `now` in Unix milliseconds, by the clock of the servers. */
  constructor(session: NatsSession, now: () => number = session.now) {
    this.#session = session;
    this.#now = now;
  }

  /** Has the leader look at a capture at that time. Repeating it is harmless. */
  async add(
    { account, uuid }: CaptureRef,
    expiresAt: number,
    deadline = this.#session.now() + timeoutMs,
  ): Promise<void> {
    const expiry = { account, uuid, expiresAt };
    await this.write(expiry, subjectAt(expiresAt, this.#now()), deadline);
  }

  /** Notes an entry under a subject. */
  async write(expiry: Expiry, subject: string, deadline = this.#session.now() + timeoutMs): Promise<void> {
    // A capture whose time was put off may come back to another subject within the window for duplicates.
    const msgID = `${subject}.${expiry.uuid}`;
    const publish = (timeout: number) => this.#session.js.publish(subject, encodeExpiry(expiry), { timeout, msgID });
    await retryTransient(publish, { deadline, now: this.#session.now });
  }
}

/** The subject of the minute of a time. */
export function minuteSubject(time: number): string {
  const { day, minute } = digits(time);
  return expirySubject(day, minute);
}

/** When the minute of a subject begins, or the day of one without a minute; NaN for any other subject. */
export function startOfSubject(subject: string): number {
  const [, year, month, day, hour = '00', minute = '00'] =
    /^expiry\.(\d{4})(\d\d)(\d\d)(?:\.(\d\d)(\d\d))?$/.exec(subject) ?? [];
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

/** There is one for each stored capture: so it is as short as can be. */
const encodeExpiry = ({ account, uuid, expiresAt }: Expiry) => `${account}.${uuid}.${expiresAt}`;

/** Null for what is no entry. */
export function parseExpiry(data: Uint8Array): Expiry | null {
  const [account = '', uuid = '', time = ''] = new TextDecoder().decode(data).split('.');
  const expiresAt = Number(time);
  if (!isKeyPart(account) || timeOfUuid(uuid) === null || !Number.isSafeInteger(expiresAt)) return null;
  return { account, uuid, expiresAt };
}
