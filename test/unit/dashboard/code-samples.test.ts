// @module-tag long
import { execFile } from 'node:child_process';
import { mkdtempDisposable, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { samplesOf } from '../../../services/dashboard/pages/playground/code-samples.ts';
import { version } from '@webcapture/shared/runtime/run-service.ts';
import { captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import type { JsonSchema } from '@webcapture/shared/api/describe-schema.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import { pendingExample, resultExample } from '../../../services/front/api/capture-examples.ts';
import { main } from '../../integration/cli/command.ts';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';

const schema = captureRequestSchema as unknown as JsonSchema;
const base = 'https://capture.test/api';
const nasty = `it's "$(touch /tmp/x)" \`x\` \\ ü 😀 \u2028 end\\`;
const request = {
  url: `https://example.com/?q=${nasty}`,
  format: 'jpeg',
  isFullPage: true,
  viewport: { width: 800 },
  block: { ads: true },
  pdf: { printBackground: false, margin: { top: '1cm' } },
  hide: ['.a', "#b'c"],
  headers: { 'X-Test': nasty },
  cookies: [{ name: 'a', value: nasty }],
  css: `a { content: "${nasty}" }\n\n`,
};

function codeOf(title: string, of: object = request): string {
  const sample = samplesOf(base, of as typeof request, schema).find((each) => each.title === title);
  return sample?.code() ?? '';
}

/** The arguments that a program receives from a shell. */
async function argumentsIn(code: string, program: string, variables = ''): Promise<{ args: string[]; stdin: string }> {
  const script = `${program}() { printf '%s\\0' "$@"; [ -t 0 ] || { printf '\\n--stdin--\\n'; cat; }; }\n${variables}\n${code}`;
  const promise = promisify(execFile)('bash', ['-c', script], { timeout: 20_000 });
  promise.child.stdin?.end();
  const [args = '', stdin = ''] = (await promise).stdout.split('\n--stdin--\n');
  return { args: args.split('\0').slice(0, -1), stdin };
}

describe('the code sample has the same request in every language', () => {
  test('curl', async () => {
    const { args } = await argumentsIn(codeOf('curl'), 'curl', 'WEBCAPTURE_API_KEY=the-key');
    expect(args).toContain(`${base}/capture`);
    expect(args).toContain('Authorization: Bearer the-key');
    expect(JSON.parse(args[args.indexOf('-d') + 1] ?? '')).toEqual({ ...request, responseType: 'file' });
    expect(args.slice(-2)).toEqual(['-o', 'capture.jpeg']);
  });

  test('TypeScript', async () => {
    const body = codeOf('TypeScript').replaceAll(/^import .*$/gm, '');
    let captured: unknown;
    class Webcapture {
      captureFile = async (options: unknown) => ({ stream: (captured = options) });
    }
    const AsyncFunction = (async () => undefined).constructor as new (
      ...code: string[]
    ) => (...values: unknown[]) => Promise<void>;
    await new AsyncFunction('Webcapture', 'writeFile', body)(Webcapture, async () => undefined);
    expect(captured).toEqual(request);
  });

  test('TypeScript is shown with the commands of the README that install the client', async () => {
    const readme = await readFile(new URL('../../../services/client/README.md', import.meta.url), 'utf8');
    const { install } = samplesOf(base, request, schema).find(({ title }) => title === 'TypeScript') ?? {};
    const { fromRelease = '', fromCheckout = '' } = install ?? {};
    expect(readme).toContain(fromRelease.replaceAll(version, '$version'));
    expect(readme).toContain(fromCheckout.replace(' && npm install', '\nnpm install'));
    expect(fromRelease).toContain(`/v${version}/`);
  });

  test('Python', async () => {
    const python = (await ensureTool('python3')).path;
    const stand = [
      'import sys, types, json',
      'requests = sys.modules["requests"] = types.ModuleType("requests")',
      'def post(url, headers, json, timeout):',
      '    sys.stdout.write(__import__("json").dumps([url, headers, json])); sys.exit(0)',
      'requests.post = post',
    ].join('\n');
    const { stdout } = await promisify(execFile)(python, ['-c', `${stand}\n${codeOf('Python')}`], {
      env: { ...process.env, WEBCAPTURE_API_KEY: 'the-key', PYTHONIOENCODING: 'utf-8' },
      timeout: 20_000,
    });
    expect(JSON.parse(stdout)).toEqual([
      `${base}/capture`,
      { Authorization: 'Bearer the-key' },
      { ...request, responseType: 'file' },
    ]);
  });

  test('the command line, with a flag for each option', async () => {
    const { args } = await argumentsIn(codeOf('Command line'), 'webcapture');
    expect(args).toEqual(
      [
        ['capture', request.url],
        ['--format', 'jpeg', '--full-page', '--viewport-width', '800', '--block-ads'],
        ['--no-pdf-print-background', '--pdf-margin', '{"top":"1cm"}'],
        ['--hide', '.a', '--hide', "#b'c", '--headers', `X-Test: ${nasty}`],
        ['--cookies', JSON.stringify(request.cookies[0]), '--css', request.css],
        ['-o', 'capture.jpeg'],
      ].flat(),
    );
  });

  test('the command line reads any HTML from standard input', async () => {
    const html = `<p>${nasty}</p>\nHTML\nHTML_\n$PATH`;
    const { args, stdin } = await argumentsIn(codeOf('Command line', { html }), 'webcapture');
    expect(args).toEqual(['capture', '-', '-o', 'capture.png']);
    expect(stdin).toBe(`${html}\n`);
  });
});

describe('a code sample that runs', () => {
  const received: Record<string, unknown>[] = [];
  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    if (incoming.url === '/files/a') return response.end('the file');
    const body = JSON.parse(await text(incoming)) as Record<string, unknown>;
    received.push({ key: incoming.headers.authorization, body });
    if (body['responseType'] === 'file') {
      return response.writeHead(200, { 'content-type': 'image/png', 'x-capture-uuid': 'a' }).end('the file');
    }
    const result = body['background'] === true ? pendingExample : { ...resultExample, fileUrl: `${url}/files/a` };
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(success(result)));
  };
  const server = createServer((incoming, response) => void answer(incoming, response));
  let url: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  /** The request body that the service receives from a sample, and the file that the sample writes. */
  async function runOf(title: string, of: object): Promise<{ body: unknown; file: string | undefined }> {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'samples-'));
    const sample = samplesOf(url, of as typeof request, schema).find((each) => each.title === title);
    const isScript = title === 'TypeScript';
    const path = join(folder.path, isScript ? 'sample.ts' : 'sample.sh');
    if (isScript)
      await symlink(
        fileURLToPath(new URL('../../../node_modules', import.meta.url)),
        join(folder.path, 'node_modules'),
      );
    const command = `webcapture() { '${process.execPath}' '${main}' "$@"; }\n`;
    await writeFile(path, isScript ? (sample?.code() ?? '') : `${command}${sample?.code()}`);
    received.length = 0;
    await promisify(execFile)(isScript ? process.execPath : 'bash', [path], {
      cwd: folder.path,
      env: { PATH: process.env['PATH'], HOME: folder.path, WEBCAPTURE_API_KEY: 'the-key' },
      timeout: 60_000,
    });
    expect(received).toEqual([{ key: 'Bearer the-key', body: expect.any(Object) }]);
    const format = 'format' in of ? String(of.format) : 'png';
    const file = await readFile(join(folder.path, `capture.${format}`), 'utf8').catch(() => undefined);
    return { body: received[0]?.['body'], file };
  }

  const asFile = { ...request, responseType: 'file' };

  test.each([
    ['curl', asFile],
    ['TypeScript', asFile],
    ['Command line', { ...request, responseType: 'json' }],
  ])('in %s sends the request and writes the file', async (title, body) => {
    expect(await runOf(title, request)).toEqual({ body, file: 'the file' });
  });

  const onlyData = {
    url: 'https://example.com/',
    format: 'none',
    extractFields: { title: 'h1', links: { selector: 'a', list: true } },
  };

  test.each([
    ['curl', onlyData],
    ['TypeScript', { ...onlyData, responseType: 'json' }],
    ['Command line', { ...onlyData, responseType: 'json' }],
  ])('in %s sends a request without a picture, and writes no file', async (title, body) => {
    expect(await runOf(title, onlyData)).toEqual({ body, file: undefined });
  });

  const html = `<p>${nasty}</p>`;
  test.each([
    ['HTML', html, html],
    ['HTML in base64', Buffer.from(html).toString('base64'), html],
    ['base64 of a text that is not HTML', Buffer.from('just ¿text?').toString('base64url'), 'just ¿text?'],
  ])('in the command line sends %s unchanged', async (_, given, page) => {
    const { body } = await runOf('Command line', { html: given });
    const sent = (body as { html: string }).html;
    expect(sent.includes('<') ? sent : Buffer.from(sent, 'base64').toString()).toBe(`${page}\n`);
  });

  test('in the command line does not wait for a background capture', async () => {
    const asked = { url: 'https://example.com/', background: true, webhook: { url: 'https://example.com/hook' } };
    expect(await runOf('Command line', asked)).toEqual({ body: { ...asked, responseType: 'json' }, file: undefined });
  });

  test('in curl sends a page that is too long for an argument', async () => {
    const long = { html: `<p>${'ü'.repeat(100_000)}</p>` };
    expect(await runOf('curl', long)).toEqual({ body: { ...long, responseType: 'file' }, file: 'the file' });
  });
});
