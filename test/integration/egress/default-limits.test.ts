import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { until } from '../../harness/until.ts';
import { openTunnel } from './proxy-client.ts';
import { publicAddress } from './sites.ts';
import { useSessions } from './use-sessions.ts';

const { tcp, openSession } = useSessions();

const mebibyte = 1_048_576;

test('a capture uploads 64 MiB and not a byte more', async () => {
  let received = 0;
  const { port } = await tcp(publicAddress, (socket) => void socket.on('data', (chunk) => (received += chunk.length)));
  const session = await openSession();
  const { socket } = await openTunnel(session.server, `a.example:${port}`);
  for (let sent = 0; sent < 64; sent++) if (!socket.write(Buffer.alloc(mebibyte))) await once(socket, 'drain');
  await until('64 MiB to arrive', () => received === 64 * mebibyte);
  expect(session.stats().limitReached).toBeUndefined();
  expect(socket.destroyed).toBe(false);
  const closed = once(socket, 'close');
  socket.write('x');
  await closed;
  expect(session.stats().limitReached).toBe('upload');
  expect(received).toBeLessThanOrEqual(64 * mebibyte + 1);
});

test('a capture holds 256 connections, and the next one is refused', async () => {
  const { port } = await tcp(publicAddress, () => undefined);
  const session = await openSession();
  const open = () => openTunnel(session.server, `a.example:${port}`);
  const tunnels = await Promise.all(Array.from({ length: 256 }, open));
  expect(tunnels.filter(({ status }) => status !== 200)).toEqual([]);
  expect(session.stats()).toMatchObject({ openConnections: 256, limitReached: undefined });
  expect((await open()).status).toBe(503);
  expect(session.stats()).toMatchObject({ openConnections: 256, limitReached: 'connections' });
});

test('the list of variables says so', async () => {
  const page = await readFile(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
  expect(page).toContain('at most 64 MiB of uploads, and at most 256 connections');
});
