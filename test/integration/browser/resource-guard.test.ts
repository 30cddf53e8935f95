// @module-tag long
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BrowserPool } from '../../../services/renderer/browser/browser-pool.ts';
import type { LaunchedBrowser } from '../../../services/renderer/browser/launch.ts';
import type { CapturePage } from '../../../services/renderer/browser/page.ts';
import { readProcessTree } from '../../../services/renderer/browser/process-tree.ts';
import { ResourceGuard } from '../../../services/renderer/browser/resource-guard.ts';
import { launchHeadlessShell, poolDefaults, startLocalEgress } from '../../harness/browser-pool.ts';
import type { CaptureLimits } from '../../../services/renderer/config.ts';
import { log } from '../../harness/engine.ts';
import { until } from '../../harness/until.ts';

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;

const generous = {
  limits: {
    cpuMs: 60_000,
    memoryBytes: 8 * gibibyte,
    pageBytes: 8 * gibibyte,
    diskBytes: 8 * gibibyte,
    processes: 10_000,
    descriptors: 10_000,
    messages: 1_000_000,
  },
  totalBytes: 64 * gibibyte,
};

/** Limits for the next check of the guard. Each test sets its own. */
const guarded = { ...generous, processorShare: 0.1, log };

/** All tests use one pool. Each test loses one of its two browsers, which the pool replaces. */
let pool: BrowserPool;
const parts = new AsyncDisposableStack();
const launched: LaunchedBrowser[] = [];
const acquired: CapturePage[] = [];
let before: number;

const running = () => launched.filter(({ browser }) => browser.isConnected()).length;
const launchedOf = ({ context }: CapturePage) => launched.find(({ browser }) => browser === context.browser());

beforeAll(async () => {
  const egress = await startLocalEgress();
  parts.defer(() => egress.close());
  const guard = new ResourceGuard(guarded);
  parts.defer(() => guard.close());
  pool = await BrowserPool.start({
    launch: async () => {
      const browser = await launchHeadlessShell();
      launched.push(browser);
      return browser;
    },
    egress,
    guard,
    ...poolDefaults,
  });
  parts.defer(() => pool.close());
});

afterAll(() => parts.disposeAsync());

beforeEach(async () => {
  Object.assign(guarded, generous);
  await until('two browsers', () => running() === 2);
  before = launched.length;
});

/** This also releases the pages of a failed test before the next one. */
const release = () => Promise.all(acquired.splice(0).map((page) => page.release()));
afterEach(release);

const limitTo = (limits: Partial<CaptureLimits>) => (guarded.limits = { ...generous.limits, ...limits });

async function acquire(): Promise<CapturePage> {
  const page = await pool.acquire();
  acquired.push(page);
  return page;
}

async function expectReplaced(): Promise<void> {
  await release();
  await until('another one in its place', () => launched.length === before + 1 && running() === 2);
}

/** Returns 2 if the page works. */
const sum = async ({ cdp }: CapturePage) =>
  (await cdp.send('Runtime.evaluate', { expression: '1 + 1', returnByValue: true })).result.value as unknown;

/** Runs a script in a page, and ignores its result. */
const run = ({ cdp }: CapturePage, expression: string) =>
  void cdp.send('Runtime.evaluate', { expression }).catch(() => undefined);
const exceeding = ({ exceeded }: CapturePage) =>
  until('the limit to be met', () => (exceeded.aborted ? (exceeded.reason as Error).message : undefined));

const hoard = 'window.hoard = []; setInterval(() => hoard.push(new Uint8Array(2e7).fill(1)), 20); 0';
const spin = `const url = URL.createObjectURL(new Blob(['for (;;);'])); for (let i = 0; i < 4; i++) new Worker(url); 0`;

describe('a capture over its limit fails alone with the name of the limit, and its browser is replaced', () => {
  test.for<[what: string, limits: Partial<CaptureLimits>, script: string, message: RegExp]>([
    ['memory of one page', { pageBytes: 300 * mebibyte }, hoard, /memory limit of a page, 300 MiB/],
    ['memory', { memoryBytes: 400 * mebibyte }, hoard, /memory limit of a capture, 400 MiB/],
    ['processor time', { cpuMs: 1000 }, spin, /processor time limit of a capture, 1 s/],
    [
      'threads',
      { processes: 150 },
      `for (let i = 0; i < 150; i++) new Worker(URL.createObjectURL(new Blob(['onmessage = () => 0']))); 0`,
      /limit of processes and threads .* of a capture, 150/,
    ],
    [
      'messages',
      { messages: 1000 },
      'setInterval(() => { for (let i = 0; i < 50; i++) document.body.appendChild(document.createElement("iframe")).remove() }, 1); 0',
      /flooded/,
    ],
  ])('%s', async ([, limits, script, message]) => {
    limitTo(limits);
    const [greedy, modest] = [await acquire(), await acquire()];
    run(greedy, script);
    expect(await exceeding(greedy)).toMatch(message);
    await until('its browser to end', () => greedy.browserLost());
    expect(await sum(modest)).toBe(2);
    expect(modest.exceeded.aborted).toBe(false);
    await expectReplaced();
  });

  test('files', async () => {
    limitTo({ diskBytes: mebibyte });
    const greedy = await acquire();
    await writeFile(join(launchedOf(greedy)?.folder ?? '', 'cache'), Buffer.alloc(mebibyte + 1));
    expect(await exceeding(greedy)).toMatch(/disk limit of a capture, 1 MiB/);
    await until('its browser to end', () => greedy.browserLost());
    await expectReplaced();
  });

  test('descriptors', async () => {
    // The browser's processes have more than this number of threads from the start.
    limitTo({ descriptors: 10 });
    const greedy = await acquire();
    expect(await exceeding(greedy)).toMatch(/limit of open files and connections of a capture, 10\./);
    await until('its browser to end', () => greedy.browserLost());
    await expectReplaced();
  });

  test('of all captures together: the one that uses most', async () => {
    guarded.totalBytes = 700 * mebibyte;
    const [greedy, modest] = [await acquire(), await acquire()];
    run(greedy, hoard);
    expect(await exceeding(greedy)).toMatch(/ran out of memory, and this page used most of it/);
    expect(modest.exceeded.aborted).toBe(false);
    await expectReplaced();
  });
});

test('a capture that keeps processors busy yields to a concurrent one, and its browser serves no other capture', async () => {
  const [greedy] = [await acquire(), await acquire()];
  const pid = launchedOf(greedy)?.pid ?? 0;
  run(greedy, spin);
  const policies = async () => {
    const threads = (readProcessTree(pid) ?? []).map((one) =>
      readFile(`/proc/${one.pid}/sched`, 'utf8').catch(() => ''),
    );
    return (await Promise.all(threads)).flatMap((text) => /^policy\s*:\s*(\d+)/m.exec(text)?.[1] ?? []);
  };
  // The policy SCHED_IDLE.
  await until('all of its processes to yield', async () => {
    const now = await policies();
    return now.length > 0 && now.every((policy) => policy === '5');
  });
  expect(greedy.exceeded.aborted).toBe(false);
  await expectReplaced();
});
