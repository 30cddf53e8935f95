import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Overview } from '@webcapture/shared/api/admin.ts';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import type { StatusReport } from '@webcapture/shared/api/status.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { AccountStreams, eventsRoute } from '../../../services/front/api/events.ts';
import { demoLimits } from '../../../services/front/auth/preset-key.ts';
import { EventStreams, type StreamEnd } from '../../../services/front/events/event-stream.ts';
import { answerError } from '../../../services/front/http/errors.ts';
import { RequestFacts } from '../../../services/front/http/request-facts.ts';
import { fake } from '../../harness/fake.ts';
import { newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { adminToken, dataOf, openAccount, send } from './accounts.ts';
import { unreachable } from './app-alone.ts';
import { EventReader } from './event-reader.ts';
import { read, startTestFront, type TestFront } from './test-front.ts';

let front: TestFront;
beforeAll(async () => {
  front = await startTestFront({ WEBCAPTURE_ADMIN_TOKEN: adminToken });
});
afterAll(() => front[Symbol.asyncDispose]());

const follow = (key: string) => EventReader.open(`${front.url}/events`, key);

async function metric(name: string, labels: Record<string, string>): Promise<number> {
  const { values } = (await front.metrics.getSingleMetric(name)?.get()) ?? { values: [] };
  const found = values.filter((value) => Object.entries(labels).every(([key, text]) => value.labels[key] === text));
  return found.reduce((sum, { value }) => sum + value, 0);
}

describe('GET /events', () => {
  test("reports changes of the account's captures on any front or process, and of no other account", async () => {
    const account = `account-${randomUUID()}`;
    const key = await front.makeKey({ account });
    const other = await front.makeKey();
    await using events = await follow(key);
    await using others = await follow(other);
    expect(events.response.status).toBe(200);
    expect(Object.fromEntries(events.response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-request-id': expect.any(String) as string,
    });
    const { body } = await read(await front.capture({ url: 'https://example.com/', background: true }, { key }));
    const uuid = body.data?.['uuid'];
    await until('the end of the capture', () =>
      events.of('capture').some((data) => (data as { status: string }).status === 'completed'),
    );
    const told = events.of('capture');
    expect(told[0]).toEqual({ uuid, status: 'queued', refresh: null });
    expect(told).toContainEqual({ uuid, status: 'completed', refresh: null });

    await front.call(`/captures/${String(uuid)}/refresh`, { method: 'POST', key });
    await until(
      'the end of the refresh',
      () =>
        events.of('capture').length > 0 &&
        events.of('capture').some((data) => (data as { refresh: string }).refresh === 'completed'),
    );
    expect(events.of('capture')).toContainEqual({ uuid, status: 'completed', refresh: 'queued' });

    // A record from another process.
    const record = newRecord({ account });
    await new Captures(await front.nats.connect()).create(record);
    await until('a record of another process', () =>
      events.of('capture').some((data) => (data as { uuid: string }).uuid === record.uuid),
    );
    expect(others.of('capture')).toEqual([]);
  });

  test('a key may have five streams, and a new one after one ends', async () => {
    const key = await front.makeKey();
    const before = await metric('webcapture_front_event_streams', { kind: 'captures' });
    const streams = await Promise.all(Array.from({ length: 5 }, () => follow(key)));
    expect(await metric('webcapture_front_event_streams', { kind: 'captures' })).toBe(before + 5);
    const refused = await send(`${front.url}/events`, key);
    expect([refused.status, refused.body.error?.code, refused.headers.get('retry-after')]).toEqual([
      429,
      'RATE_LIMIT_EXCEEDED',
      '10',
    ]);
    await streams[0]?.[Symbol.asyncDispose]();
    await until(
      'the place to be free',
      async () => (await metric('webcapture_front_event_streams', { kind: 'captures' })) === before + 4,
    );
    await using another = await follow(key);
    expect(another.response.status).toBe(200);
    for (const each of streams) await each[Symbol.asyncDispose]();
  });

  test('an account may have 20 streams over all of its keys', async () => {
    const account = `account-${randomUUID()}`;
    const keys = await Promise.all(Array.from({ length: 5 }, () => front.makeKey({ account })));
    const streams = await Promise.all(keys.slice(1).flatMap((key) => Array.from({ length: 5 }, () => follow(key))));
    expect(streams.map(({ response }) => response.status)).toEqual(Array.from({ length: 20 }, () => 200));
    const [key = ''] = keys;
    const refused = await send(`${front.url}/events`, key);
    expect([refused.status, refused.body.error?.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
    for (const each of streams) await each[Symbol.asyncDispose]();
    await until(
      'the streams to end',
      async () => (await metric('webcapture_front_event_streams', { kind: 'captures' })) === 0,
    );
  });

  test('a reopened stream reuses the watch of the last one', async () => {
    const account = `account-${randomUUID()}`;
    const key = await front.makeKey({ account });
    const filter = `capture.${account}.>`;
    const watches = async () => {
      const consumers = await front.nats.session.jsm.consumers.list('KV_db').next();
      return consumers.filter(({ config }) => JSON.stringify(config).includes(filter)).map(({ name }) => name);
    };
    const first = await follow(key);
    const used = await watches();
    expect(used).toHaveLength(1);
    await first[Symbol.asyncDispose]();
    await until(
      'the stream to end',
      async () => (await metric('webcapture_front_event_streams', { kind: 'captures' })) === 0,
    );
    await using again = await follow(key);
    expect(again.response.status).toBe(200);
    expect(await watches()).toEqual(used);
  });

  test('a stream ends with an error soon after its key is revoked, or its account suspended', async () => {
    const { account, first } = await openAccount(front.url);
    const body = { accountId: account.id, name: 'second' };
    const second = dataOf<{ id: string; key: string }>(await send(`${front.url}/admin/keys`, adminToken, { body }));
    await using revoked = await follow(second.key);
    await using suspended = await follow(first.key);
    await send(`${front.url}/admin/keys/${second.id}`, adminToken, { method: 'DELETE' });
    await revoked.ended;
    expect(revoked.of('error')).toEqual([
      { code: 'API_KEY_REVOKED', message: expect.stringMatching(/revoked/) as string },
    ]);
    expect(suspended.of('error')).toEqual([]);
    await send(`${front.url}/admin/accounts/${account.id}`, adminToken, { method: 'PATCH', body: { suspended: true } });
    await suspended.ended;
    expect(suspended.of('error')).toEqual([
      { code: 'FORBIDDEN', message: expect.stringMatching(/suspended/) as string },
    ]);
  });

  test('needs the read scope, and refuses HEAD', async () => {
    const key = await front.makeKey({ scopes: ['capture'] });
    for (const [token, code] of [
      [key, 'FORBIDDEN'],
      [null, 'UNAUTHORIZED'],
    ] as const) {
      expect((await send(`${front.url}/events`, token)).body.error?.code).toBe(code);
    }
    expect((await front.call('/events', { method: 'HEAD' })).status).toBe(405);
  });
});

describe('the operator overview', () => {
  const cluster = {
    name: 'asia',
    namespace: 'webcapture',
    version: '0.2.0',
    regions: ['us-east' as const],
    silentForMs: 6000.4,
    problems: ['2 clusters report under the name asia'],
  };
  const report: StatusReport = {
    components: [{ name: 'engine.us-east', status: 'partial_outage', lastCheckedAt: new Date(0).toISOString() }],
    pending: [],
    queued: { 'us-east': 7 },
    clusters: [cluster],
    waiting: { 'us-east': { interactive: 3, background: 4, backgroundHeld: 1 } },
    retired: { 'asia-east': 1, 'eu-west': 2 },
    overall: 'partial_outage',
    at: Date.now(),
  };
  const wanted = () => ({
    at: expect.any(String) as string,
    status: 'partial_outage',
    regions: [
      {
        region: 'us-east',
        installed: true,
        renderers: 1,
        slots: 2,
        busy: 0,
        queued: { interactive: 3, background: 4 },
        status: 'partial_outage',
        meanRenderMs: null,
        pods: [{ pod: 'stand-in-us-east', slots: 2, busy: 0, version: '0', ageMs: expect.any(Number) as number }],
      },
    ],
    retired: {
      captures: 3,
      regions: [
        { region: 'eu-west', captures: 2 },
        { region: 'asia-east', captures: 1 },
      ],
    },
    clusters: [{ ...cluster, silentForMs: 6000 }],
  });

  test('contains regions, queues and pods, as an answer and as an event every two seconds', async () => {
    await new Entries(front.nats.session, 'live').put('status', { ...report, at: Date.now() });
    const ask = () => send(`${front.url}/admin/overview`, adminToken);
    await until('the status to be heard', async () => dataOf<Overview>(await ask()).status === 'partial_outage');
    expect(dataOf(await ask())).toEqual(wanted());
    await using events = await EventReader.open(`${front.url}/admin/events`, adminToken);
    await until('a second overview', () => events.of('overview').length >= 2);
    expect(events.of('overview').at(-1)).toEqual(wanted());
    expect(await metric('webcapture_front_event_streams', { kind: 'overview' })).toBe(1);
    await events[Symbol.asyncDispose]();
    const seconds = await until('the request to be counted', async () => {
      const line = /^webcapture_front_request_seconds_sum\{.*route="\/admin\/events",status="2xx".*\} (.*)$/m;
      return line.exec(await front.metrics.metrics())?.[1];
    });
    // The metric does not include the time that the stream is open.
    expect(Number(seconds)).toBeLessThan(1);
  });

  test('needs the admin token', async () => {
    const key = await front.makeKey();
    for (const path of ['/admin/overview', '/admin/events']) {
      expect((await send(front.url + path, key)).body.error?.code).toBe('UNAUTHORIZED');
    }
  });
});

test('a client that does not read is disconnected before it uses much memory', async () => {
  const ends: StreamEnd[] = [];
  const metrics = {
    streamOpened: () => undefined,
    streamEnded: (_: unknown, reason: StreamEnd) => void ends.push(reason),
  };
  const streams = new EventStreams({ leaving: new AbortController().signal, metrics });
  const app = fastify();
  app.decorateRequest('facts', null as unknown as RequestFacts);
  let sent = 0;
  app.get('/', async (request, reply) => {
    request.facts = new RequestFacts();
    const stream = streams.reserve(request, reply, {
      kind: 'captures',
      holders: [{ kind: 'API key', id: 'one', max: 1 }],
    });
    stream.start();
    const timer = setInterval(() => {
      for (let each = 0; each < 64; each++) stream.send('capture', JSON.stringify('x'.repeat(16_000)));
      sent++;
    }, 1);
    stream.ended.addEventListener('abort', () => clearInterval(timer));
    return reply;
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as { port: number };
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await until('the stream to end', () => ends.length === 1);
  expect(ends).toEqual(['slow']);
  // A megabyte each: no more than the socket buffers of both sides.
  expect(sent).toBeLessThan(30);
  socket.destroy();
  await app.close();
});

test('an account that opens too many streams gets 429 with Retry-After, and other accounts do not', async () => {
  const app = fastify();
  app.addHook('onRequest', async (request) => {
    request.facts = new RequestFacts();
  });
  app.setErrorHandler<Error>(answerError);
  const metrics = { streamOpened: () => undefined, streamEnded: () => undefined };
  const leaving = new AbortController().signal;
  const limits = { ...demoLimits, createdAt: 0, name: 'n' };
  const accountStreams = new AccountStreams({
    authenticator: fake({
      authenticate: async (authorization = '') => ({
        account: { id: authorization, ...limits },
        key: { id: randomUUID(), account: authorization, name: 'n', scopes, createdAt: 0 },
      }),
    }),
    session: unreachable(() => {
      throw new ServiceError('INTERNAL_ERROR');
    }),
    streams: new EventStreams({ leaving, metrics }),
    leaving,
  });
  eventsRoute(app, accountStreams);
  const open = async (account: string) => {
    const { statusCode, headers } = await app.inject({ url: '/events', headers: { authorization: account } });
    return [statusCode, headers['retry-after']];
  };
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    for (let index = 0; index < 20; index++) expect(await open('a')).toEqual([500, undefined]);
    expect(await open('a')).toEqual([429, '1']);
    expect(await open('b')).toEqual([500, undefined]);
    vi.advanceTimersByTime(1000);
    expect(await open('a')).toEqual([500, undefined]);
    expect(await open('a')).toEqual([429, '1']);
  } finally {
    vi.useRealTimers();
  }
});

test('clients that use all streams of a front leave the operators their streams', async () => {
  const metrics = { streamOpened: () => undefined, streamEnded: () => undefined };
  const streams = new EventStreams({ leaving: new AbortController().signal, metrics });
  const app = fastify();
  app.get('/', async (request, reply) => {
    reply.raw.setMaxListeners(0);
    for (let each = 0; each < 500; each++) streams.reserve(request, reply, { kind: 'captures', holders: [] });
    expect(() => streams.reserve(request, reply, { kind: 'captures', holders: [] })).toThrow(/Too many event streams/);
    streams.reserve(request, reply, { kind: 'overview', holders: [{ kind: 'admin token', id: '', max: 1 }] });
    return 'reserved';
  });
  expect((await app.inject('/')).body).toBe('reserved');
});

test(
  'streams end with an error when NATS disconnects, and at once when the front shuts down',
  { tags: 'long' },
  async () => {
    await using small = await startTestFront();
    const key = await small.makeKey();
    await using lost = await EventReader.open(`${small.url}/events`, key);
    await small.nats.restart();
    await lost.ended;
    expect(lost.of('error')).toEqual([
      { code: 'INTERNAL_ERROR', message: expect.stringMatching(/may have been missed/) as string },
    ]);

    const again = await until('the front to be connected', async () => {
      const reader = await EventReader.open(`${small.url}/events`, key);
      return reader.response.status === 200 && reader;
    });
    small.leave();
    await again.ended;
    expect(again.received).toEqual([]);
  },
);
