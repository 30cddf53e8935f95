// @module-tag long
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { downloadFile } from '../../../deploy/tools/download-file.ts';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import { inspectProgram } from '../../../deploy/tools/inspect-program.ts';
import { releasePlatform } from '../../../deploy/tools/platform.ts';
import { downloadRelease } from '../../../deploy/tools/strategies/download-release.ts';
import { findInCache } from '../../../deploy/tools/strategies/find-in-cache.ts';
import type { Tool } from '../../../deploy/tools/tool.ts';
import { tempDir } from './support.ts';

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A release of a program that prints its version, on its own release host. */
async function release() {
  const root = await tempDir();
  const folder = join(root, 'gadget-1.2.3');
  await mkdir(folder);
  await writeFile(join(folder, 'gadget'), '#!/bin/sh\necho 1.2.3\n');
  await chmod(join(folder, 'gadget'), 0o755);
  await promisify(execFile)('tar', ['-czf', 'gadget.tar.gz', 'gadget-1.2.3'], { cwd: root });
  const archive = await readFile(join(root, 'gadget.tar.gz'));
  const requests: string[] = [];
  const host = await serve((request, response) => {
    requests.push(request.url ?? '');
    response.end(archive);
  });
  const sha256 = createHash('sha256').update(archive).digest('hex');
  const sha512 = createHash('sha512').update(archive).digest('hex');
  const tool = (pins: Record<string, string>, kind: 'sha256' | 'sha512' = 'sha256'): Tool => ({
    name: 'gadget',
    inspect: inspectProgram({ args: [], minimum: '1.0.0' }),
    find: [findInCache('1.2.3')],
    install: [
      downloadRelease({
        version: '1.2.3',
        url: (platform) => `${host}/v1.2.3/gadget-${platform}.tar.gz`,
        member: () => 'gadget-1.2.3/gadget',
        ...(kind === 'sha256' ? { sha256: pins } : { sha512: pins }),
      }),
    ],
    byHand: () => 'get it',
  });
  const env = { ...process.env, WEBCAPTURE_CACHE_DIR: join(root, 'cache') };
  return { tool, env, sha256, sha512, requests, cacheDir: join(root, 'cache') };
}

describe('downloadRelease', () => {
  test('downloads a file, checks and keeps it', async () => {
    const { tool, env, sha256, requests, cacheDir } = await release();
    const tools = [tool({ [releasePlatform()]: sha256 })];
    const lines: string[] = [];
    const found = await ensureTool('gadget', { env, tools, log: (line) => lines.push(line) });
    expect(found).toEqual({ path: join(cacheDir, 'gadget', `1.2.3-${releasePlatform()}`, 'gadget'), version: '1.2.3' });
    expect(await ensureTool('gadget', { env, tools })).toEqual(found);
    expect(requests).toEqual([`/v1.2.3/gadget-${releasePlatform()}.tar.gz`]);
    expect(lines).toEqual([
      expect.stringMatching(/^gadget: downloading http/),
      `gadget: downloaded and checked ${found.path}`,
    ]);
  });

  test('refuses a file with another checksum, and keeps nothing', async () => {
    const { tool, env, sha256, cacheDir } = await release();
    const tools = [tool({ [releasePlatform()]: '0'.repeat(64) })];
    await expect(ensureTool('gadget', { env, tools })).rejects.toThrow(`download of release 1.2.3: 127.0.0.1:`);
    await expect(ensureTool('gadget', { env, tools })).rejects.toThrow(
      `has the SHA-256 ${sha256}, not the pinned 0000`,
    );
    expect(await readdir(join(cacheDir, 'gadget'))).toEqual([]);
  });

  test('accepts a SHA-512 if the publisher lists that', async () => {
    const { tool, env, sha512 } = await release();
    const found = await ensureTool('gadget', { env, tools: [tool({ [releasePlatform()]: sha512 }, 'sha512')] });
    expect(found.version).toBe('1.2.3');
    const wrong = [tool({ [releasePlatform()]: '0'.repeat(128) }, 'sha512')];
    const elsewhere = { ...env, WEBCAPTURE_CACHE_DIR: await tempDir() };
    await expect(ensureTool('gadget', { env: elsewhere, tools: wrong })).rejects.toThrow(`has the SHA-512 ${sha512}`);
  });

  test('sends no request for a platform without a checksum', async () => {
    const { tool, env, sha256, requests } = await release();
    const tools = [tool({ 'plan9-mips': sha256 })];
    await expect(ensureTool('gadget', { env, tools })).rejects.toThrow(
      `no checksum is pinned for ${releasePlatform()}`,
    );
    expect(requests).toEqual([]);
  });
});

describe('downloadFile', () => {
  const download = async (url: string, limits: { connectMs?: number; totalMs?: number } = {}, lines: string[] = []) => {
    const { signal } = new AbortController();
    const path = join(await tempDir(), 'file');
    await downloadFile(url, path, { checksum: { sha256: 'x' }, log: (line) => lines.push(line), signal, ...limits });
  };

  test('fails if a host does not respond', async () => {
    const host = await serve(() => undefined);
    await expect(download(host, { connectMs: 100 })).rejects.toThrow('no answer within 0.1 s');
  });

  test('fails if a response does not end', async () => {
    const host = await serve((_, response) => {
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    });
    await expect(download(host, { totalMs: 300 })).rejects.toThrow('not done within 0.3 s');
  });

  test('reports an error status, and an address that does not exist', async () => {
    const host = await serve((_, response) => response.writeHead(404).end());
    await expect(download(host)).rejects.toThrow('it answered with status 404');
    await expect(download('http://127.0.0.1:1/')).rejects.toThrow(/^127\.0\.0\.1:1: /);
  });
});
