import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { answerClientError } from '../../../services/front/http/errors.ts';

/** The response of a server with a header timeout of 100 ms to a client that sends only this text. */
async function answerTo(sent: string): Promise<string> {
  const server = createServer({ headersTimeout: 100, connectionsCheckingInterval: 20 }, (_request, response) => {
    response.end('served');
  });
  server.on('clientError', answerClientError);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    if (sent !== '') socket.write(sent);
    return await text(socket);
  } finally {
    server.close();
  }
}

test('a connection that sends nothing is closed without a response', async () => {
  expect(await answerTo('')).toBe('');
});

test('incomplete headers get a 400 after the timeout', async () => {
  const answer = await answerTo('GET / HTTP/1.1\r\nHost: a\r\n');
  expect(answer).toMatch(/^HTTP\/1\.1 400 .*"the request took too long to arrive"/s);
});

test('a request that is not HTTP gets a 400', async () => {
  expect(await answerTo('hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 .*"this is not a valid HTTP request"/s);
});
