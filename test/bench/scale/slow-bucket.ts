import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';

/** What a bucket takes to remove an object. */
const removalMs = 50;

/** A process that answers as a bucket does whose every call takes its time, and prints its address. It keeps nothing. */
const server = createServer((request, response) => {
  request.resume();
  setTimeout(() => response.writeHead(request.method === 'DELETE' ? 204 : 404).end(), removalMs);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
