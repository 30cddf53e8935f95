import type { UsageView } from '@webcapture/shared/api/account.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { keysMatching, readMany } from '@webcapture/shared/nats/read-many.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { monthOf } from '@webcapture/shared/captures/times.ts';
import { noUsage, persistedPeriod, sum, usageOf, type Usage } from '@webcapture/shared/captures/usage.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { adminToken, dataOf, openAccount, send, type Answer } from './accounts.ts';
import { startTestFront, type TestFront } from './test-front.ts';
import type { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { chargesOf, wideBytes } from '../../harness/limits.ts';

export const wide = { tokenQuota: 1e6, ratePerMinute: 1e6, burst: 1e6, maxInFlight: 1e5, maxQueued: 1e5, ...wideBytes };

/** One account on a test front, as its holder and as the usage ledger sees it. */
export interface Holder {
  readonly account: string;
  readonly key: string;
  /** Sends POST /capture, in the background unless the body says otherwise. */
  capture(body?: object, front?: string): Promise<Answer>;
  /** Like `capture`, but must be accepted; returns its `data`. */
  queue(body?: object): Promise<Record<string, unknown> & { readonly uuid: string }>;
  state(uuid: string): Promise<Record<string, unknown>>;
  until(uuid: string, status: string): Promise<Record<string, unknown>>;
  refresh(uuid: string, front?: string): Promise<Answer>;
  remove(uuid: string, front?: string): Promise<Answer>;
  record(uuid: string): Promise<CaptureRecord>;
  /** Tokens and captures in this month's usage shards. */
  usage(): Promise<ReturnType<typeof chargesOf>>;
  /** The sum of all usage shards, which must equal `sumOfRecords`. */
  ledger(): Promise<Usage>;
  sumOfRecords(): Promise<Usage>;
  tokensUsed(): Promise<number>;
}

export const startBackgroundFront = (options: Parameters<typeof startTestFront>[1] = {}) =>
  startTestFront({ WEBCAPTURE_ADMIN_TOKEN: adminToken }, options);

/** Returns a log that adds each warning, with the message of its error, to the lines. */
export function warningsTo(lines: string[]): Logger {
  const warn = ({ err }: { err: Error }, message: string) => void lines.push(`${message}: ${err.message}`);
  return Object.create(silentLog, { warn: { value: warn } }) as Logger;
}

/** Opens an account with wide limits, except the given ones. */
export async function openHolder(front: TestFront, limits: object = {}): Promise<Holder> {
  const opened = await openAccount(front.url, { ...wide, ...limits });
  const account = opened.account.id;
  const { key } = opened.first;
  const { session } = front.nats;
  const captures = new Captures(session);
  const holder: Holder = {
    account,
    key,
    capture: (body = {}, url = front.url) =>
      send(`${url}/capture`, key, { body: { url: 'https://example.com/', background: true, ...body } }),
    queue: async (body) => dataOf(await holder.capture(body)),
    state: async (uuid) => dataOf(await send(`${front.url}/captures/${uuid}`, key)),
    until: (uuid, status) =>
      until(`${uuid} to be ${status}`, async () => {
        const state = await holder.state(uuid);
        return state['status'] === status ? state : null;
      }),
    refresh: (uuid, url = front.url) => send(`${url}/captures/${uuid}/refresh`, key, { method: 'POST' }),
    remove: (uuid, url = front.url) => send(`${url}/captures/${uuid}`, key, { method: 'DELETE' }),
    async record(uuid) {
      const found = await captures.get(account, uuid);
      if (found === null) throw new Error(`no record of ${uuid}`);
      return found.value;
    },
    usage: async () => chargesOf(await holder.ledger()),
    ledger: () => new AccountUsage(session).read(account, Date.now(), 'exact'),
    async sumOfRecords() {
      const keys = await keysMatching(session, 'db', `capture.${account}.>`);
      const records = await readMany<CaptureRecord>(session, 'db', keys);
      const periods = [monthOf(Date.now()), persistedPeriod];
      const usages = [...records.values()].map(usageOf);
      return usages.flatMap((usage) => periods.map((period) => usage.get(period) ?? noUsage)).reduce(sum, noUsage);
    },
    tokensUsed: async () => dataOf<UsageView>(await send(`${front.url}/usage`, key)).tokensUsed,
  };
  return holder;
}

/** Holds pulled jobs until the returned function is called; with `begun`, reports them as rendering. */
export function holdJobs(renderer: StandInRenderer, { begun = false } = {}): () => void {
  let release = () => undefined as void;
  const released = new Promise<void>((resolve) => (release = resolve));
  renderer.behavior = async (job, self) => {
    if (begun) self.begin(job);
    await released;
    await self.complete(job);
  };
  return release;
}

/** Makes the renderer complete every job at once. */
export function completeJobs(renderer: StandInRenderer): void {
  renderer.behavior = (job, self) => self.complete(job);
}

/** Returns the subjects of a capture's scheduled and pending tasks. */
export async function tasksOf(front: TestFront, uuid: string): Promise<string[]> {
  const { state } = await front.nats.session.jsm.streams.info(streamNames.tasks, { subjects_filter: '>' });
  return Object.keys(state.subjects ?? {}).filter((subject) => subject.includes(uuid));
}

/** Counts the answers by error code or status. */
export function tally(answers: readonly Answer[]): Record<string, number> {
  const groups = Map.groupBy(answers, ({ body }) => body.error?.code ?? String(body.data?.['status']));
  return Object.fromEntries([...groups].map(([code, group]) => [code, group.length]));
}

/** Returns the HTTP status of a capture's file. */
export async function fileStatus(front: TestFront, { fileUrl }: Record<string, unknown>): Promise<number> {
  const name = String(fileUrl).slice('https://cdn.test/'.length);
  const response = await fetch(`${front.url}/files/${name}`);
  await response.arrayBuffer();
  return response.status;
}
