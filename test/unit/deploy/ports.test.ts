import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { freePort, isPortTaken } from '../../../deploy/local/ports.ts';

test('a free port is outside the range of outgoing connections', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()));
  // 32768 is the first port that Linux assigns to outgoing connections.
  expect(ports.filter((port) => port < 1024 || port >= 32_768)).toEqual([]);
  expect(new Set(ports).size).toBeGreaterThan(1);
});

test('a port with a listener is taken', async () => {
  await using server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  expect(await isPortTaken((server.address() as AddressInfo).port, '127.0.0.1')).toBe(true);
});

test('an address that this machine does not have throws EADDRNOTAVAIL', async () => {
  await expect(isPortTaken(0, '192.0.2.1')).rejects.toThrow('EADDRNOTAVAIL');
});
