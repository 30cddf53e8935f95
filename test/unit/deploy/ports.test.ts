import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { freePort, isPortTaken, keptPort } from '../../../deploy/local/ports.ts';

test('a free port is outside the range of outgoing connections', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()));
  // 32768 is the first port that Linux assigns to outgoing connections.
  expect(ports.filter((port) => port < 1024 || port >= 32_768)).toEqual([]);
  expect(new Set(ports).size).toBeGreaterThan(1);
});

test('a port with a listener is taken, and not kept', async () => {
  await using server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  expect(await isPortTaken(port, '127.0.0.1')).toBe(true);
  expect(await keptPort(port)).not.toBe(port);
});

test('a restarted process keeps a port that is free', async () => {
  const port = await freePort();
  expect(await keptPort(port)).toBe(port);
});

test('an address that this machine does not have throws EADDRNOTAVAIL', async () => {
  await expect(isPortTaken(0, '192.0.2.1')).rejects.toThrow('EADDRNOTAVAIL');
});
