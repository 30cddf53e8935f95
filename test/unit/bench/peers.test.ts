import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { json } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startPeer, startPeers } from '../../bench/peers/start-peer.ts';
import type { Contender } from '../../bench/speed/contender.ts';
import { configuredPeers, peerContender } from '../../bench/speed/peer-contenders.ts';

const task = {
  page: { name: 'tiny', path: '/tiny', isFullPage: false },
  url: 'http://127.0.0.1/',
  format: 'pdf',
} as const;

test('continues without a peer that cannot be started, and says why in one line', async () => {
  const peer: Contender = { name: 'second', capture: () => Promise.resolve(Buffer.alloc(0)), processes: () => [] };
  const started = await startPeers({
    First: () => Promise.reject(new Error('it could not be set up.\nTried:\n  - cache: nothing')),
    Second: () => Promise.resolve(peer),
  });
  expect(started).toEqual({
    peers: [peer],
    leftOut: ['Without First: it could not be set up. Tried: - cache: nothing'],
  });
});

test('reports the last lines of a peer that ends at its start', async () => {
  await using parts = new AsyncDisposableStack();
  const start = startPeer(parts, {
    name: 'short',
    command: process.execPath,
    args: ['--eval', 'console.error("the port is taken"); process.exit(1)'],
    env: {},
    health: 'http://127.0.0.1:1/',
  });
  await expect(start).rejects.toThrow('short ended at its start. Its last lines:\nthe port is taken');
});

test('fails if a peer returns an error or an empty file', async () => {
  let [status, body] = [503, 'too many requests'];
  await using server = createServer((_request, response) => response.writeHead(status).end(body)).listen(
    0,
    '127.0.0.1',
  );
  await new Promise((resolve) => server.once('listening', resolve));
  const peer = peerContender('browserless', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await expect(peer.capture(task)).rejects.toThrow('browserless returned 503: too many requests');
  [status, body] = [200, ''];
  await expect(peer.capture(task)).rejects.toThrow('browserless returned an empty file');
  body = '%PDF';
  await expect(peer.capture(task)).resolves.toEqual(Buffer.from('%PDF'));
});

test('lets a peer wait for an idle network only if the file is checked', async () => {
  const bodies: Record<string, unknown>[] = [];
  await using server = createServer((request, response) => {
    void json(request).then((body) => bodies.push(body as Record<string, unknown>));
    request.on('end', () => response.end('%PDF'));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const peer = peerContender('browserless', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await peer.capture(task);
  await peer.capture({ ...task, isChecked: true });
  expect(bodies).toEqual([
    expect.not.objectContaining({ gotoOptions: expect.anything() }),
    expect.objectContaining({ gotoOptions: { waitUntil: 'networkidle0', timeout: 10_000 }, waitForTimeout: 1000 }),
  ]);
});

test('refuses a configured peer of an unknown kind', () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('WEBCAPTURE_BENCH_PEERS', 'gotenberg=http://127.0.0.1:1,toString=http://127.0.0.1:2');
  expect(configuredPeers).toThrow(
    'WEBCAPTURE_BENCH_PEERS: "toString=http://127.0.0.1:2" is not <kind>=<address> with a kind of browserless, gotenberg, webcapture',
  );
});
