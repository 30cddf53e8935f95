import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { until } from '../../harness/until.ts';
import { openTunnel } from './proxy-client.ts';
import { publicAddress } from './sites.ts';
import { useLanes } from './use-lanes.ts';

const { tcp, openLane } = useLanes();

const mebibyte = 1_048_576;

test('a capture uploads 64 MiB and not a byte more', async () => {
  let received = 0;
  const { port } = await tcp(publicAddress, (socket) => void socket.on('data', (chunk) => (received += chunk.length)));
  const lane = await openLane();
  const { socket } = await openTunnel(lane.server, `a.example:${port}`);
  for (let sent = 0; sent < 64; sent++) if (!socket.write(Buffer.alloc(mebibyte))) await once(socket, 'drain');
  await until('64 MiB to arrive', () => received === 64 * mebibyte);
  expect(lane.stats().limitReached).toBeUndefined();
  expect(socket.destroyed).toBe(false);
  const closed = once(socket, 'close');
  socket.write('x');
  await closed;
  expect(lane.stats().limitReached).toBe('upload');
  expect(received).toBeLessThanOrEqual(64 * mebibyte + 1);
});

test('a capture holds 256 connections, and the next one is refused', async () => {
  const { port } = await tcp(publicAddress, () => undefined);
  const lane = await openLane();
  const open = () => openTunnel(lane.server, `a.example:${port}`);
  const tunnels = await Promise.all(Array.from({ length: 256 }, open));
  expect(tunnels.filter(({ status }) => status !== 200)).toEqual([]);
  expect(lane.stats()).toMatchObject({ openConnections: 256, limitReached: undefined });
  expect((await open()).status).toBe(503);
  expect(lane.stats()).toMatchObject({ openConnections: 256, limitReached: 'connections' });
});

test('the README says so', async () => {
  const readme = await readFile(new URL('../../../README.md', import.meta.url), 'utf8');
  expect(readme).toContain('uploads 64 MiB and holds 256 connections');
});
