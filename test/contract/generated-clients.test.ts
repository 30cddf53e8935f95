// @module-tag long
import { execFile } from 'node:child_process';
import { copyFile, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { presetKey, startTestFront, type TestFront } from '../integration/front/test-front.ts';
import { pythonTool } from './tools.ts';

const run = promisify(execFile);

let front: TestFront;
beforeAll(async () => {
  front = await startTestFront();
});
afterAll(() => front[Symbol.asyncDispose]());

/** A temporary folder with the document in it. */
async function folderWithDocument() {
  const folder = await mkdtempDisposable(join(tmpdir(), 'generated-'));
  await writeFile(join(folder.path, 'openapi.json'), await (await front.call('/openapi.json')).text());
  return folder;
}

const source = (path: string) => new URL(path, import.meta.url);
const expected = [true, 'webp', 'VALIDATION_ERROR'];

test('a client for Python, made by openapi-python-client, captures a page and understands an error', async () => {
  const bin = await pythonTool('openapi-python-client==0.29.1');
  await using folder = await folderWithDocument();
  const cwd = folder.path;
  const generate = ['generate', '--path', 'openapi.json', '--meta', 'none', '--output-path', 'webcapture_client'];
  await run(join(bin, 'openapi-python-client'), generate, { cwd });
  await copyFile(source('python/use_client.py'), join(cwd, 'use_client.py'));
  const { stdout } = await run(join(bin, 'python'), ['use_client.py', front.url, presetKey], { cwd });
  expect(JSON.parse(stdout)).toEqual(expected);
});

test('a client for Go, made by oapi-codegen, captures a page and understands an error', async () => {
  await using folder = await folderWithDocument();
  const cwd = folder.path;
  const go = (...args: string[]) => run('go', args, { cwd });
  await go('mod', 'init', 'example.com/use-client');
  const generator = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
  await go('run', generator, '-generate', 'types,client', '-package', 'main', '-o', 'client.go', 'openapi.json');
  await go('get', 'github.com/oapi-codegen/runtime@v1.8.0');
  await copyFile(source('go/main.go'), join(cwd, 'main.go'));
  await go('build', '-o', 'use-client', '.');
  const { stdout } = await run(join(cwd, 'use-client'), [front.url, presetKey], { cwd });
  expect(JSON.parse(stdout)).toEqual(expected);
});
