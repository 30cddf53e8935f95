import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  Client,
  type CallToolResult,
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mcpTools } from '@webcapture/shared/api/mcp-tools.ts';
import { runMcp } from '../../../services/cli/mcp.ts';
import { freePort } from '../../harness/free-port.ts';
import { presetKey, startTestFront, type TestFront } from './test-front.ts';

let front: TestFront;
beforeAll(async () => {
  front = await startTestFront();
});
afterAll(() => front[Symbol.asyncDispose]());

/** The client side of the pipes. */
class Pipes implements Transport {
  readonly input = new PassThrough();
  readonly output = new PassThrough();
  /** All received text, which must consist of messages. */
  received = '';
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;

  async start(): Promise<void> {
    const buffer = new ReadBuffer();
    this.output.on('data', (chunk: Buffer) => {
      this.received += chunk.toString();
      buffer.append(chunk);
      for (let message = buffer.readMessage(); message !== null; message = buffer.readMessage())
        this.onmessage?.(message);
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.input.write(serializeMessage(message));
  }

  async close(): Promise<void> {
    this.input.end();
    this.onclose?.();
  }
}

async function desktop(options: { url: string; apiKey?: string; mode?: 'auto' | 'legacy' }) {
  const { url, apiKey = presetKey, mode = 'auto' } = options;
  const pipes = new Pipes();
  const errors = new PassThrough();
  const stop = new AbortController();
  const { input, output } = pipes;
  const running = runMcp({ url, apiKey, input, output, errors, signal: stop.signal });
  const client = new Client({ name: 'desktop', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(pipes);
  return {
    client,
    call: async (name: string, args: Record<string, unknown> = {}) => {
      const { isError = false, content } = (await client.callTool({ name, arguments: args })) as CallToolResult;
      return { isError, text: content.map((each) => (each.type === 'text' ? each.text : each.type)).join('\n') };
    },
    stop,
    running,
    /** Ends the client; returns all text of stderr. */
    end: async () => {
      await client.close();
      await running;
      for (const line of pipes.received.trimEnd().split('\n'))
        expect(JSON.parse(line)).toHaveProperty('jsonrpc', '2.0');
      errors.end();
      return text(errors);
    },
  };
}

test.each(['auto', 'legacy'] as const)('a desktop client (%s) uses the tools of the service', async (mode) => {
  const { client, call, end } = await desktop({ url: front.url, mode });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(mcpTools.map(({ name }) => name));
  const captured = await call('capture_page', { url: 'https://example.com/' });
  expect(captured.text).toContain('file: https://cdn.test/');
  expect(await call('capture_page', { url: 'http://10.0.0.1/' })).toMatchObject({ isError: true });
  await expect(client.callTool({ name: 'rm' })).rejects.toThrow('Unknown tool');
  expect(await end()).toBe('');
});

test('while the service is down, tools are listed and calls report it; they work when it is back', async () => {
  const port = await freePort();
  const { client, call, end } = await desktop({ url: `http://127.0.0.1:${port}` });
  expect((await client.listTools()).tools.length).toBe(mcpTools.length);
  const { isError, text: said } = await call('list_regions');
  expect(isError).toBe(true);
  expect(said).toContain(`http://127.0.0.1:${port}/mcp is unavailable (connect ECONNREFUSED`);

  const service = createServer((socket) => {
    const { port: standPort } = new URL(front.url);
    const onward = connect(Number(standPort), '127.0.0.1');
    socket.pipe(onward).pipe(socket);
    for (const each of [socket, onward]) each.on('error', () => [socket, onward].forEach((one) => one.destroy()));
  }).listen(port, '127.0.0.1');
  await once(service, 'listening');
  expect(await call('list_regions')).toMatchObject({
    isError: false,
    text: expect.stringContaining('us-east') as unknown,
  });
  service.close();
  expect(await end()).toContain('is unavailable');
});

test('each call reports an invalid key, and the signal stops the process', async () => {
  const { call, stop, running } = await desktop({ url: `${front.url}/`, apiKey: 'unknown' });
  expect(await call('list_regions')).toMatchObject({
    isError: true,
    text: expect.stringMatching(/^UNAUTHORIZED: /) as unknown,
  });
  stop.abort();
  await running;
});

test('a call to a wrong address reports it, without the advice to try again', async () => {
  const { call, end } = await desktop({ url: `${front.url}/elsewhere` });
  const { isError, text: said } = await call('list_regions');
  expect({ isError, said }).toEqual({
    isError: true,
    said: `The service at ${front.url}/elsewhere/mcp responded with HTTP status 404. Check the address and the API key.`,
  });
  await end();
});
