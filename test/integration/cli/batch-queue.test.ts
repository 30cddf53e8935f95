// @module-tag long
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { until } from '../../harness/until.ts';
import { addresses, journalOf, pictures } from './batch-output.ts';
import { useCli } from './test-cli.ts';

const cli = useCli();

const typesOf = async (folder: string, type: string) =>
  (await journalOf(folder)).filter((line) => line.type === type).length;

test('--queue queues all entries before it waits for the first, and retries those that fail', async () => {
  const account = await cli().openAccount();
  const out = join(cli().folder, 'queue');
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let jobs = 0;
  cli().front.renderer.behavior = async (job, renderer) => {
    const number = ++jobs;
    await released;
    if (number === 2) await renderer.fail(job, 'CAPTURE_FAILED', 'The browser has crashed.');
    else await renderer.complete(job);
  };
  const args = ['batch', '-', '-o', out, '--queue', '--concurrency', '1', '--json'];
  const { result } = account.start(args, { input: addresses(6, 'queue') });
  // The renderer takes two jobs at once.
  await until('the entries to be queued', async () => (await account.usage()).queued >= 4);
  release();
  const { code, stderr, stdout } = await result;
  expect(stderr).toContain('The browser has crashed.');
  expect(code).toBe(0);
  expect(JSON.parse(stdout.toString())).toMatchObject({ total: 6, saved: 6, failures: [] });
  expect(await pictures(out)).toHaveLength(6);
  expect([await typesOf(out, 'queueing'), jobs]).toEqual([1, 7]);
  expect((await account.usage()).tokensUsed).toBe(6);
});

test('entries that were queued before the process was killed are not captured again', async () => {
  const account = await cli().openAccount();
  const out = join(cli().folder, 'queue-killed');
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  cli().front.renderer.behavior = async (job, renderer) => {
    await released;
    await renderer.complete(job);
  };
  const input = addresses(5, 'queue-killed');
  const args = ['batch', '-', '-o', out];
  const { child, result } = account.start([...args, '--queue'], { input });
  await until('the entries to be queued', async () => (await typesOf(out, 'queued').catch(() => 0)) === 1);
  child.kill('SIGKILL');
  await result;
  release();
  expect((await account.run(args, { input })).code).toBe(0);
  expect(await pictures(out)).toHaveLength(5);
  expect((await account.usage()).tokensUsed).toBe(5);

  // The process was killed before it received the response.
  const journal = join(out, '.webcapture-batch.jsonl');
  const lines = (await readFile(journal, 'utf8')).split('\n');
  const end = lines.findIndex((line) => line.includes('"queued"'));
  await writeFile(journal, `${lines.slice(0, end).join('\n')}\n`);
  for (const picture of await pictures(out)) await rm(join(out, picture));
  expect((await account.run(args, { input })).code).toBe(0);
  expect(await pictures(out)).toHaveLength(5);
  expect((await account.usage()).tokensUsed).toBe(5);
});

test('entries are captured one by one if the service refuses to queue them together', async () => {
  const account = await cli().openAccount();
  const out = join(cli().folder, 'queue-refused');
  const input = `${addresses(2, 'queue-refused')}http://127.0.0.1/\n`;
  const { code, stdout } = await account.run(['batch', '-', '-o', out, '--queue'], { input });
  expect(stdout.toString()).toMatch(/^2 of 3 captured.*\n1 failed:\n.*URL_BLOCKED/);
  expect(code).toBe(1);
  expect(await pictures(out)).toHaveLength(2);
});

test('entries are captured one by one if the service has no batches', async () => {
  const account = await cli().openAccount();
  const out = join(cli().folder, 'queue-older');
  const older = createServer((request, response) => void forward(request, response));
  await new Promise<void>((resolve) => older.listen(0, '127.0.0.1', resolve));
  try {
    const env = { WEBCAPTURE_URL: `http://127.0.0.1:${(older.address() as AddressInfo).port}` };
    const input = addresses(3, 'queue-older');
    expect(await account.run(['batch', '-', '-o', out, '--queue'], { input, env })).toMatchObject({ code: 0 });
    expect(await pictures(out)).toHaveLength(3);
    expect((await account.usage()).tokensUsed).toBe(3);
  } finally {
    older.close();
  }
});

/** Forwards a request to the front as if it had no batches. */
async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = '/', method = 'GET', headers } = request;
  const path = url === '/captures/batch' ? '/captures/no-route/of-batches' : url;
  const sent = ['authorization', 'content-type', 'idempotency-key'].flatMap((name): [string, string][] => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  const body = await text(request);
  const answer = await fetch(cli().front.url + path, { method, headers: sent, ...(body !== '' && { body }) });
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
}
