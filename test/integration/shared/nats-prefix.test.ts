import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { allKeys, readMany } from '@webcapture/shared/nats/read-many.ts';
import {
  captureSubject,
  inboxPrefixOf,
  keySubject,
  resultSubject,
  setNamePrefix,
  streamLabels,
} from '@webcapture/shared/nats/streams.ts';
import { watchKeys, watchWrites } from '@webcapture/shared/nats/watch.ts';
import { fleetKey } from '@webcapture/shared/queue/heartbeat.ts';
import { publishHeartbeat } from '@webcapture/shared/queue/publish-heartbeat.ts';
import { createStreamMetrics, measureStreams } from '../../../services/controller/jobs/stream-sizes.ts';
import type { Term } from '../../../services/controller/leader/election.ts';
import { provision } from '../../../services/controller/streams.ts';
import { Broker } from '../../harness/broker.ts';
import { silentLog, streamSettings } from '../../harness/nats-session.ts';
import { usersOfPrefixes } from '../../harness/nats-users.ts';
import { until } from '../../harness/until.ts';
import { heartbeat } from '../controller/support/facts.ts';
import { TestQueue, TestRenderer } from '../renderer/support/renderer.ts';
import { isRefused } from './support/nats-users.ts';

// Three installations in one account. A process has one prefix, so the tests switch it.
const prefixes = ['', 'acme', 'acme-2'];
const users = usersOfPrefixes(prefixes);
const region = 'us-east';

let broker: Broker;
let all: NatsSession;
const sessions: NatsSession[] = [];
beforeAll(async () => {
  const folder = await mkdtemp(join(inject('tempFolder'), 'prefix-'));
  broker = await Broker.start(folder, inject('tools').natsServer, users.config);
  all = await connect({});
  for (const prefix of prefixes) {
    setNamePrefix(prefix);
    await provision(all.jsm, streamSettings, [region]);
  }
});
afterEach(() => setNamePrefix(''));
afterAll(async () => {
  for (const { nc } of sessions) await nc.close();
  await broker.stop();
});

async function connect(login: { user?: string; password?: string; inboxPrefix?: string }): Promise<NatsSession> {
  const signal = AbortSignal.timeout(60_000);
  const session = await connectNats({ url: broker.url, ...login, name: 'test', log: silentLog, signal });
  sessions.push(session);
  return session;
}

function connectRenderer(prefix: string): Promise<NatsSession> {
  const { WEBCAPTURE_NATS_USER: user, WEBCAPTURE_NATS_PASSWORD: password } = users.userOf(prefix, 'renderer', region);
  return connect({ user, password, inboxPrefix: inboxPrefixOf(`renderer.${region}`) });
}

test('each prefix has its own streams, and their subjects differ in the prefix only', async () => {
  // The server refuses a stream with a subject that another stream of the account has.
  const found = (await all.jsm.streams.list().next()).map(({ config }) => config);
  const streams = found.map(({ name, subjects }) => [name, ...subjects].join(' '));
  const withPrefix = (text: string, prefix: string) =>
    text
      .replaceAll(/\b(CAPTURES|RESULTS|TASKS|EXPIRY|DEAD|FILES)\b/g, `${prefix}-$1`)
      .replaceAll(/(?<= )(captures|results|tasks|later|expiry|files)\./g, `${prefix}-$1.`)
      .replaceAll(/(KV[_.])(db|live|cache)\b/g, `$1${prefix}-$2`);
  const unprefixed = streams.filter((text) => !text.includes('acme'));
  expect(unprefixed).toHaveLength(9);
  const expected = ['acme', 'acme-2'].flatMap((prefix) => unprefixed.map((text) => withPrefix(text, prefix)));
  expect(streams.toSorted()).toEqual([...unprefixed, ...expected].toSorted());
});

test('a bucket of one prefix contains nothing of another one, and its watches neither', async () => {
  const seen: string[] = [];
  const written: unknown[] = [];
  const stop = new AbortController();
  setNamePrefix('acme');
  const watched = { bucket: 'live', filter: '>', log: silentLog, signal: stop.signal };
  const change = ({ value }: { value: unknown }) => void (value !== null && seen.push(JSON.stringify(value)));
  const following = watchKeys(all, watched, { reset: () => undefined, change });
  const watch = await watchWrites(all, { bucket: 'live', filter: '>' }, (value) => written.push(value), 5000);
  for (const prefix of prefixes) {
    setNamePrefix(prefix);
    await new Entries(all, 'live').put('a', { of: prefix });
  }
  for (const prefix of prefixes) {
    setNamePrefix(prefix);
    expect((await new Entries(all, 'live').get('a'))?.value).toEqual({ of: prefix });
    expect((await allKeys(all, 'live', '>')).keys).toEqual(['a']);
    expect(await readMany(all, 'live', ['a'])).toEqual(new Map([['a', { of: prefix }]]));
  }
  await until('both watches', () => seen.length > 0 && written.length > 0);
  setNamePrefix('acme');
  await new Entries(all, 'live').put('a', 'last');
  await until('the last value', () => seen.includes('"last"') && written.includes('last'));
  expect(seen).toEqual(['{"of":"acme"}', '"last"']);
  expect(written).toEqual([{ of: 'acme' }, 'last']);
  stop.abort();
  watch.stop();
  await following;
});

test('a renderer takes the jobs of its prefix only, with the permissions of its prefix', async () => {
  const queues = new Map<string, TestQueue>();
  for (const prefix of prefixes) {
    setNamePrefix(prefix);
    const queue = new TestQueue(all);
    await queue.publish({ region });
    queues.set(prefix, queue);
  }
  setNamePrefix('acme');
  const session = await connectRenderer('acme');
  const renderer = new TestRenderer(session, { region });
  await until('the result', async () => (await queues.get('acme')?.results())?.length === 1);
  await publishHeartbeat(new Entries(session, 'live'), heartbeat('a-pod', { region }));
  await until('its heartbeat', async () => (await new Entries(all, 'live').get(fleetKey(region, 'a-pod'))) !== null);
  await renderer.stop();
  for (const prefix of ['', 'acme-2']) {
    setNamePrefix(prefix);
    expect(await queues.get(prefix)?.results()).toEqual([]);
    expect(await queues.get(prefix)?.queued()).toBe(1);
    await isRefused(session, keySubject('live', `fleet.${region}.a-pod`));
    await isRefused(session, resultSubject(region, 'u'));
    await isRefused(session, captureSubject(region, 'interactive'));
  }
  expect(renderer.taken).toHaveLength(1);
});

test('metrics of streams have the names without the prefix', async () => {
  setNamePrefix('acme');
  const registry = new Registry();
  const streamMetrics = createStreamMetrics(registry);
  await measureStreams({ session: all, streamMetrics }, { holds: () => true } as Term);
  const { values } = await streamMetrics.bytes.get();
  expect(values.map(({ labels }) => labels.stream)).toEqual(Object.values(streamLabels));
});
