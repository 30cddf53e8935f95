// @module-tag long
import { execFile } from 'node:child_process';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mcpTools } from '@webcapture/shared/api/mcp-tools.ts';
import { presetKey, startTestFront, type TestFront } from '../integration/front/test-front.ts';
import { npmTool } from './tools.ts';

const run = promisify(execFile);

let front: TestFront;
let inspector: string;
beforeAll(async () => {
  inspector = join(await npmTool('@modelcontextprotocol/inspector@2.12.0'), 'clients/launcher/build/index.js');
  front = await startTestFront();
  const page = sharp({ create: { width: 1280, height: 720, channels: 3, background: 'red' } });
  const bytes = await page.png().toBuffer();
  front.renderer.fileOf = () => bytes;
});
afterAll(() => front[Symbol.asyncDispose]());

const cli = fileURLToPath(new URL('../../services/cli/main.ts', import.meta.url));

/** The arguments for the inspector: the address of the server, or the command that starts the server. */
const servers: Readonly<Record<string, () => readonly string[]>> = {
  'over HTTP': () => [`${front.url}/mcp`, '--header', `Authorization: Bearer ${presetKey}`],
  'through `webcapture mcp`': () => [
    process.execPath,
    cli,
    'mcp',
    '-e',
    `WEBCAPTURE_URL=${front.url}`,
    '-e',
    `WEBCAPTURE_API_KEY=${presetKey}`,
  ],
};

interface Answer {
  /** The exit code; 6 means that some models do not support a schema. */
  readonly code: number;
  readonly result: {
    readonly tools?: readonly { readonly name: string }[];
    readonly isError?: boolean;
    readonly content?: readonly { readonly type: string; readonly text?: string; readonly mimeType?: string }[];
  };
}

describe.each(Object.keys(servers))('the MCP inspector, %s', (server) => {
  async function inspect(...args: string[]): Promise<Answer> {
    // The inspector stores a catalog of servers in its home folder.
    await using home = await mkdtempDisposable(join(tmpdir(), 'inspector-'));
    const env = { PATH: process.env['PATH'], HOME: home.path };
    const all = [inspector, '--cli', ...(servers[server]?.() ?? []), ...args];
    return await run(process.execPath, all, { env, timeout: 120_000 }).then(
      ({ stdout }) => ({ code: 0, result: JSON.parse(stdout) as Answer['result'] }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => {
        if (!stdout.startsWith('{')) throw new Error(`the inspector ended with ${code}: ${stderr}`);
        return { code, result: JSON.parse(stdout) as Answer['result'] };
      },
    );
  }
  const call = (name: string, ...pairs: string[]) =>
    inspect('--method', 'tools/call', '--tool-name', name, ...pairs.flatMap((pair) => ['--tool-arg', pair]));

  test('lists the tools, whose schemas every model supports', async () => {
    const { code, result } = await inspect('--method', 'tools/list', '--strict');
    expect([code, result.tools?.map(({ name }) => name)]).toEqual([0, mcpTools.map(({ name }) => name)]);
  });

  test('captures a page', async () => {
    const { code, result } = await call('capture_page', 'url=https://example.com/', 'viewport={"width":1280}');
    expect([code, result.isError ?? false]).toEqual([0, false]);
    expect(result.content).toContainEqual(expect.objectContaining({ type: 'image' }));
    expect(result.content?.map(({ text }) => text).join('\n')).toContain('file: https://cdn.test/');
  });

  test('returns URL_BLOCKED for a private address', async () => {
    const { result } = await call('capture_page', 'url=http://10.0.0.1/');
    expect(result.isError).toBe(true);
    expect(result.content?.[0]?.text).toMatch(/^URL_BLOCKED: /);
  });
});
