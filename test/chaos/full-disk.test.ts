// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, inject, onTestFinished, test } from 'vitest';
import { freePort } from '../harness/free-port.ts';
import { mountSmallDisk } from '../harness/small-disk.ts';
import { removeFolder } from '../harness/temp-folder.ts';
import { until } from '../harness/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const key = 'key-of-the-full-disk';

interface Listed {
  readonly status: string;
  readonly tokenCost: number;
}

/** Starts `npm start` with its data on another disk and with the tools of the tests. */
async function startService(folder: string, dataDir: string) {
  const script = join(folder, 'start.ts');
  await writeFile(
    script,
    `import { run } from ${JSON.stringify(new URL('../../deploy/local/run.ts', import.meta.url).href)};
     process.exit(await run({
       env: process.env, root: ${JSON.stringify(root)}, colors: false,
       setUp: () => Promise.resolve(${JSON.stringify(inject('tools'))}),
       print: (text) => process.stdout.write(text + '\\n'),
     }));`,
  );
  const port = await freePort();
  const child = spawn(process.execPath, [script], {
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      TMPDIR: folder,
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      PORT: String(port),
      WEBCAPTURE_DATA_DIR: dataDir,
      WEBCAPTURE_API_KEY: key,
      WEBCAPTURE_REGIONS: 'us-east:1',
      WEBCAPTURE_CHROMIUM_SANDBOX: inject('tools').sandbox,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  onTestFinished(async ({ task }) => {
    child.kill('SIGTERM');
    await ended;
    if (task.result?.state === 'fail') process.stderr.write(text.slice(-20_000));
  });
  await until('npm start to be ready', () => text.includes('webcapture is ready'));

  const call = async (path: string, body?: object) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    return { status: response.status, body: (await response.json()) as { data: unknown } };
  };
  let page = 0;
  return {
    text: () => text,
    status: async () => (await call('/status')).status,
    /** Captures a page that was not captured before. Returns the HTTP status. */
    capture: async (options: object = {}) => (await call('/capture', { html: `<p>${page++}`, ...options })).status,
    usage: async () => (await call('/usage')).body.data as Record<'tokensUsed' | 'tokensReserved' | 'inFlight', number>,
    captures: async () => {
      const items: Listed[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const { data } = (await call(`/captures?limit=100${cursor && `&cursor=${cursor}`}`)).body;
        const list = data as { items: Listed[]; nextCursor: string | null };
        items.push(...list.items);
        cursor = list.nextCursor;
      }
      return items;
    },
  };
}

test('captures work again within 30 s after a full disk has space, and the usage equals the cost of the captures', async (context) => {
  const folder = await mkdtemp(join(inject('tempFolder'), 'disk-'));
  onTestFinished(() => removeFolder(folder));
  const disk = await mountSmallDisk(join(folder, 'data'), 400);
  if (typeof disk === 'string') return context.skip(disk);
  onTestFinished(() => disk[Symbol.asyncDispose]());
  const service = await startService(folder, disk.folder);
  expect(service.text()).toMatch(/the disk of \S+ has \d+ MiB left/);
  expect(await service.capture()).toBe(200);

  await disk.fill();
  const answers: Promise<number>[] = [];
  for (let i = 0; i < 20; i++) {
    answers.push(service.capture(), service.capture({ background: true }));
    await sleep(500);
  }
  expect(service.text()).not.toContain('restarting nats');
  await disk.free();
  const freedAt = performance.now();
  await until('a capture after the disk was freed', async () => (await service.capture()) === 200, { intervalMs: 200 });
  await until('the status to be operational', async () => (await service.status()) === 200, { intervalMs: 200 });
  const healedMs = performance.now() - freedAt;
  process.stdout.write(`captures work again ${Math.round(healedMs)} ms after the disk has space\n`);
  expect(healedMs).toBeLessThan(30_000);
  // Captures failed because of the full disk, and their clients got an error.
  const statuses = await Promise.all(answers);
  expect(statuses).toContain(500);
  expect(service.text().match(/restarting nats/g)).toHaveLength(1);

  const isOpen = ({ status }: Listed) => status === 'queued' || status === 'rendering';
  await until('every capture to have ended', async () => !(await service.captures()).some(isOpen), { intervalMs: 500 });
  await until('nothing to be in flight', async () => (await service.usage()).inFlight === 0, { intervalMs: 500 });
  const completed = (await service.captures()).filter(({ status }) => status === 'completed');
  const cost = completed.reduce((total, { tokenCost }) => total + tokenCost, 0);
  expect(completed.length).toBeGreaterThanOrEqual(statuses.filter((status) => status === 200).length + 2);
  expect(await service.usage()).toMatchObject({ tokensUsed: cost, tokensReserved: 0 });
});
