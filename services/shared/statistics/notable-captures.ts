import { type AdminCapture, type AdminCapturesQuery, maxAdminCaptures } from '../api/admin.ts';
import type { NatsSession } from '../nats/connect.ts';
import { readMany } from '../nats/read-many.ts';
import type { CaptureEnd } from './capture-end.ts';

/** Captures of all accounts that ended within one hour (UTC) and that an operator may want to investigate. */
export interface NotableHour {
  /** The slowest completed captures, slowest first. */
  readonly slowest: AdminCapture[];
  /** The latest failed captures, newest first. */
  readonly failed: AdminCapture[];
}

export const newHour = (): NotableHour => ({ slowest: [], failed: [] });

const bySlowness = (a: AdminCapture, b: AdminCapture) => b.durationMs - a.durationMs;
const byEnd = (a: AdminCapture, b: AdminCapture) => Date.parse(b.endedAt) - Date.parse(a.endedAt);

export function noteEnd(hour: NotableHour, end: CaptureEnd): void {
  const { slowest, failed } = hour;
  // Most captures are neither slow nor failed, so they are skipped early.
  const isQuick = slowest.length >= maxAdminCaptures && end.durationMs <= (slowest.at(-1)?.durationMs ?? 0);
  if (end.failure !== undefined) keep(failed, [viewOf(end)], byEnd);
  else if (!isQuick) keep(slowest, [viewOf(end)], bySlowness);
}

/** Adds the captures of another process. */
export function addHour(hour: NotableHour, other: NotableHour): void {
  keep(hour.slowest, other.slowest, bySlowness);
  keep(hour.failed, other.failed, byEnd);
}

function keep(kept: AdminCapture[], more: readonly AdminCapture[], order: typeof byEnd): void {
  const idOf = ({ uuid, endedAt }: AdminCapture) => `${uuid} ${endedAt}`;
  const distinct = new Map([...kept, ...more].map((each) => [idOf(each), each]));
  kept.splice(0, kept.length, ...[...distinct.values()].toSorted(order).slice(0, maxAdminCaptures));
}

const maxMessageLength = 200;

function viewOf({ uuid, account, host, region, failure, durationMs, endedAt }: CaptureEnd): AdminCapture {
  return {
    uuid,
    account,
    host,
    region,
    code: failure?.code ?? null,
    message: failure === undefined ? null : withoutAddresses(failure.message).slice(0, maxMessageLength),
    durationMs,
    endedAt: new Date(endedAt).toISOString(),
  };
}

/** Removes paths and queries of pages, which operators do not need. */
const withoutAddresses = (message: string) =>
  message.replaceAll(/https?:\/\/[^\s"'<>]+/gi, (address) => URL.parse(address)?.host ?? '…');

const hourMs = 3_600_000;

/** Returns `yyyymmddhh` in UTC. */
const hourOf = (time: number): string => new Date(time).toISOString().slice(0, 13).replaceAll(/[-T]/g, '');

export const notableKey = (time: number): string => `notable.${hourOf(time)}`;

/** Lifetime of an hour. It is listed until its last capture is a day old. */
export const notableTtlSeconds = 26 * 3600;

/**
 * Stores the notable captures of the last 24 hours. An hour keeps as many captures as the longest list has, so that every list is exact.
 */
export class NotableCaptures {
  readonly #session: NatsSession;

  constructor(session: NatsSession) {
    this.#session = session;
  }

  async list({ sort, limit }: AdminCapturesQuery): Promise<readonly AdminCapture[]> {
    const now = this.#session.now();
    const keys = Array.from({ length: 25 }, (_, index) => notableKey(now - index * hourMs));
    const hours = await readMany<NotableHour>(this.#session, 'db', keys);
    const all = [...hours.values()].flatMap((hour) => hour[sort]);
    const recent = all.filter(({ endedAt }) => Date.parse(endedAt) > now - 24 * hourMs);
    return recent.toSorted(sort === 'slowest' ? bySlowness : byEnd).slice(0, limit);
  }
}
