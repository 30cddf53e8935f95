import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';

/** The time that a bucket takes to remove an object. */
const removalMs = 50;

/** A process that responds like a slow bucket, stores nothing, and prints its address. */
const server = createServer((request, response) => {
  request.resume();
  setTimeout(() => response.writeHead(request.method === 'DELETE' ? 204 : 404).end(), removalMs);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
