import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '../../harness/free-port.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { until } from '../../harness/until.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { bytesOf } from './test-front.ts';

const key = 'preset-key-that-is-not-logged';

let nats: TestNats;
let front: ServiceProcess;
let renderer: StandInRenderer;
let url: string;

beforeEach(async () => {
  nats = await startTestNats(['us-east']);
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  front = await ServiceProcess.prepare('front-under-test', 'front', {
    PATH: process.env['PATH'] ?? '',
    PORT: String(port),
    WEBCAPTURE_HOST: '127.0.0.1',
    WEBCAPTURE_NATS_URL: nats.url,
    WEBCAPTURE_REGIONS: 'us-east:1',
    WEBCAPTURE_API_KEY: key,
    WEBCAPTURE_DRAIN_DELAY: '2',
  });
  renderer = new StandInRenderer(await nats.connect(), 'us-east');
  await renderer.start();
  await front.start();
});
afterEach(async () => {
  await front.stop();
  await renderer.stop();
  await nats[Symbol.asyncDispose]();
});

const capture = (body: object) =>
  fetch(`${url}/capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}
const logLines = () =>
  front
    .logs()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine);

test('every request is logged, and no line contains a secret', async () => {
  const response = await capture({ url: 'https://example.com/path?token=abc123' });
  expect(response.status).toBe(200);
  await capture({ url: 'https://user:hunter2@example.com/', html: '<p>confidential</p>' });
  // Requests to /healthz, which load balancers send every few seconds, are not logged.
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await fetch(`${url}/nothing?token=abc123`, { headers: { authorization: 'Bearer wrong-token' } });
  const lines = await until('three lines', () => {
    const found = logLines().filter(({ msg }) => msg === 'request');
    return found.length >= 3 && found;
  });
  expect(lines[0]).toMatchObject({
    level: 'info',
    service: 'front',
    pod: 'front-under-test',
    reqId: response.headers.get('x-request-id'),
    method: 'POST',
    route: '/capture',
    status: 200,
    uuid: response.headers.get('x-capture-uuid'),
    account: 'demo',
    ownMs: expect.any(Number),
  });
  expect(lines[1]).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
  expect(lines[2]).toMatchObject({ route: 'none', status: 404, code: 'NOT_FOUND' });
  expect(logLines().filter(({ route }) => route === '/healthz')).toEqual([]);
  for (const secret of [key, 'wrong-token', 'hunter2', 'abc123', 'confidential', 'user:']) {
    expect(front.logs()).not.toContain(secret);
  }
  expect(await front.metrics()).toMatch(/webcapture_front_captures_total\{[^}]*outcome="completed"[^}]*\} 1/);
});

test('on SIGTERM the front drains, refuses connections, completes requests in progress and exits with 0', async () => {
  let release = () => undefined as void;
  const released = new Promise<void>((resolve) => (release = resolve));
  renderer.behavior = async (job, self) => {
    await released;
    await self.complete(job);
  };
  const answer = capture({ url: 'https://example.com/', responseType: 'file' });
  await until('the job to be pulled', () => renderer.jobs.length === 1);
  front.signal('SIGTERM');
  await until('the drain to begin', async () => (await front.probe('/readyz')).text === 'draining');
  const late = await fetch(`${url}/openapi.json`);
  expect([late.status, late.headers.get('connection')]).toEqual([200, 'close']);
  await until('new connections to be refused', () => refused(Number(new URL(url).port)));
  release();
  const response = await answer;
  const [job] = renderer.jobs;
  expect([response.status, await bytesOf(response)]).toEqual([200, job && renderer.fileOf(job)]);
  expect(response.headers.get('connection')).toBe('close');
  const exit = await until('the process to end', () => front.exit);
  expect(exit).toEqual({ code: 0, signal: null });
});

function refused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', () => resolve(true));
  });
}
