import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { removeFolder } from '../../harness/temp-folder.ts';
import { until } from '../../harness/until.ts';
import { completeJobs, fileStatus, type Holder, holdJobs, openHolder, startBackgroundFront } from './background.ts';
import { pages, readBatch, sendBatch, untilBatchEnds } from './batches.ts';
import type { TestFront } from './test-front.ts';

const run = promisify(execFile);

let front: TestFront;
let holder: Holder;
beforeAll(async () => {
  front = await startBackgroundFront();
  holder = await openHolder(front);
});
afterAll(() => front[Symbol.asyncDispose]());
beforeEach(() => {
  completeJobs(front.renderer);
  front.renderer.bytes = Buffer.from('the bytes of a picture');
});

const zipOf = (id: string, key = holder.key) =>
  front.call(`/batches/${id}/zip`, { key, signal: AbortSignal.timeout(150_000) });

interface Manifest {
  readonly id: string;
  readonly counts: object;
  readonly captures: readonly { readonly file: string | null; readonly error: object | null }[];
}

/** Unpacks an archive with unzip, which checks all checksums. */
async function unpack(response: Response): Promise<{ folder: string; files: string[]; manifest: Manifest }> {
  const folder = await mkdtemp(join(tmpdir(), 'batch-zip-'));
  onTestFinished(() => removeFolder(folder));
  const archive = join(folder, 'batch.zip');
  await writeFile(archive, Buffer.from(await response.arrayBuffer()));
  const out = join(folder, 'out');
  await run('unzip', ['-q', archive, '-d', out]);
  const files = (await readdir(out)).toSorted();
  return { folder: out, files, manifest: JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8')) as Manifest };
}

test('an archive has the files of the captures that completed, and lists all captures', async () => {
  front.renderer.behavior = (job, renderer) =>
    job.source.kind === 'url' && job.source.url.endsWith('/1')
      ? renderer.fail(job, 'NAVIGATION_FAILED', 'The page is away.')
      : renderer.complete(job);
  const requests = [...pages(3), ...pages(1, { format: 'pdf' })];
  const { data } = await sendBatch(front, holder.key, { requests });
  const { captures } = await untilBatchEnds(front, holder.key, data.id);
  const response = await zipOf(data.id);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'application/zip',
    'content-disposition': `attachment; filename="batch-${data.id}.zip"`,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  const { folder, files, manifest } = await unpack(response);
  const names = [0, 2, 3].map((index) => `000${index}-${captures[index]?.uuid}.${index === 3 ? 'pdf' : 'png'}`);
  expect(files).toEqual([...names, 'manifest.json']);
  for (const [position, index] of [0, 2, 3].entries()) {
    const name = captures[index]?.fileUrl?.replace('https://cdn.test/', '');
    const file = Buffer.from(await (await fetch(`${front.url}/files/${name}`)).arrayBuffer());
    expect(await readFile(join(folder, names[position] ?? ''))).toEqual(file);
  }
  expect(manifest).toMatchObject({ id: data.id, status: 'completed', counts: { completed: 3, failed: 1 } });
  expect(manifest.captures.map(({ file }) => file)).toEqual([names[0], null, names[1], names[2]]);
  expect(manifest.captures[1]).toEqual({
    index: 1,
    uuid: captures[1]?.uuid,
    url: 'https://example.com/1',
    status: 'failed',
    file: null,
    error: { code: 'NAVIGATION_FAILED', message: 'The page is away.' },
  });
});

test('an archive of a batch that has not ended has what there is, and one of deleted captures only the list', async () => {
  const release = holdJobs(front.renderer);
  const { data } = await sendBatch(front, holder.key, { requests: pages(2) });
  expect((await unpack(await zipOf(data.id))).files).toEqual(['manifest.json']);
  release();
  const ended = await untilBatchEnds(front, holder.key, data.id);
  for (const { uuid, fileUrl } of ended.captures) {
    await holder.remove(uuid);
    await until('its file to be removed', async () => (await fileStatus(front, { fileUrl })) === 404);
  }
  const { files, manifest } = await unpack(await zipOf(data.id));
  expect(files).toEqual(['manifest.json']);
  expect(manifest.counts).toMatchObject({ deleted: 2 });
});

test('a file that is missing is named, and the others are sent', async () => {
  const { data } = await sendBatch(front, holder.key, { requests: pages(2) });
  const { captures } = await untilBatchEnds(front, holder.key, data.id);
  await front.renderer.store.remove((await holder.record(captures[0]?.uuid ?? '')).fileName);
  const { files, manifest } = await unpack(await zipOf(data.id));
  expect(files).toEqual([expect.stringMatching(/^0001-/), 'manifest.json']);
  expect(manifest.captures[0]).toMatchObject({ status: 'completed', file: null, error: { code: 'STORAGE_FAILED' } });
});

test('archives of other accounts are not found, and an account gets two at once', async () => {
  front.renderer.bytes = Buffer.alloc(3 * 1024 * 1024, 'a');
  const { data } = await sendBatch(front, holder.key, { requests: pages(4) });
  await untilBatchEnds(front, holder.key, data.id);
  const other = await openHolder(front);
  expect((await zipOf(data.id, other.key)).status).toBe(404);
  // The file is larger than socket buffers, so that responses that are not read stay open.
  const open = [await zipOf(data.id), await zipOf(data.id)];
  expect(open.map(({ status }) => status)).toEqual([200, 200]);
  const refused = await zipOf(data.id);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10']);
  await open[0]?.body?.cancel();
  const next = await until('the place to be free', async () => {
    const response = await zipOf(data.id);
    if (response.status === 200) return response;
    await response.arrayBuffer();
    return null;
  });
  for (const response of [open[1], next]) await response?.arrayBuffer();
  expect((await readBatch(front, holder.key, data.id)).data.counts.completed).toBe(4);
});
