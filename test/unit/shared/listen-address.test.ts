import { createServer, connect, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { anyAddress, anyAddressOf, formatAddress } from '@webcapture/shared/runtime/listen-address.ts';

const v4 = { family: 'IPv4' } as const;
const v6 = { family: 'IPv6' } as const;

test.each([
  ['a host with both families', { lo: [v4, v6], eth0: [v4] }, '::'],
  ['a host with IPv6 only', { eth0: [v6] }, '::'],
  ['a host without IPv6', { lo: [v4], eth0: [v4] }, '0.0.0.0'],
  ['a host without interfaces', { eth0: undefined }, '0.0.0.0'],
])('%s listens on %3$s', (_, interfaces, address) => {
  expect(anyAddressOf(interfaces)).toBe(address);
});

test.each([
  ['0.0.0.0', '0.0.0.0:80'],
  ['::', '[::]:80'],
  ['2001:db8::1', '[2001:db8::1]:80'],
])('the address %s is logged as %s', (address, text) => {
  expect(formatAddress({ address, port: 80 })).toBe(text);
});

test('the path of a Unix socket is logged as it is', () => {
  expect(formatAddress('/run/front.sock')).toBe('/run/front.sock');
});

test('the default address of this host accepts connections over each of its families', async () => {
  await using server = createServer((socket) => socket.destroy());
  await once(server.listen(0, anyAddress), 'listening');
  const { port } = server.address() as AddressInfo;
  for (const host of anyAddress === '::' ? ['127.0.0.1', '::1'] : ['127.0.0.1']) {
    const socket = connect({ host, port });
    await once(socket, 'connect');
    socket.destroy();
  }
});
