// @module-tag long
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { html, TestEngine, TestSite } from '../../harness/engine.ts';
import { readProcessTree, runsPages } from '../../../services/renderer/browser/process-tree.ts';
import { descendantsOf, isAlive, zombiesOf } from '../../harness/processes.ts';
import { Picture } from '../../harness/picture.ts';
import { until } from '../../harness/until.ts';

const before = process.env.TMPDIR;
const held: (() => void)[] = [];
const run = promisify(execFile);
let folder: string;
/** The error if the disk could not be mounted. */
let disk: unknown;
let engine: TestEngine;
let site: TestSite;
let stopBusiest = () => undefined as void;
let onLoaded = () => undefined as void;

const green = html('<script>document.body.style.background = "#0a0"</script>');

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wc-'));
  process.env.TMPDIR = folder;
  // A disk that the tests can fill. It also holds the shared memory, because Playwright disables /dev/shm in Chromium.
  disk = await run('mount', ['-t', 'tmpfs', '-o', 'size=128m', 'tmpfs', folder]).catch((error: Error) => error);
  site = await TestSite.start({
    '/': green,
    '/held': `${green}<img src="/image">`,
    // The busy loop identifies its browser among the others.
    '/hangs-once': `${green}<script>const end = Date.now() + 1000; while (Date.now() < end);</script><img src="/stop">`,
    '/stop': (_, response) => {
      stopBusiest();
      response.writeHead(404).end();
    },
    // The page reports that it has loaded, and stays busy until its process is stopped.
    '/loads': html(
      `<script>
        document.body.style.background = "#0a0";
        addEventListener("load", () => setTimeout(() => {
          navigator.sendBeacon("/loaded");
          for (const end = Date.now() + 3000; Date.now() < end;);
        }, 0));
      </script>`,
    ),
    '/loaded': (_, response) => {
      onLoaded();
      response.writeHead(204).end();
    },
    '/image': (_, response) => void held.push(() => response.writeHead(404).end()),
  });
  engine = await TestEngine.start({ livenessTimeoutMs: 1500 });
});

afterAll(async () => {
  await engine.close();
  await site.close();
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  if (!(disk instanceof Error)) await run('umount', ['--lazy', folder]);
  await rm(folder, { recursive: true });
});

/**
 * Returns the browser processes of this file's engines, whose folders are in the folder of this file. The worker may have other engines.
 * Their processes may hang, but they serve no captures here.
 */
async function browserProcesses() {
  const all = await descendantsOf(process.pid);
  const mains = all.filter(
    ({ command }) => command.includes(`--user-data-dir=${folder}/`) && !command.startsWith('/bin/sh'),
  );
  const children = await Promise.all(mains.map(({ pid }) => descendantsOf(pid)));
  return [...mains, ...children.flat()];
}

/** Outcome of a capture: `completed`, its error code, or `again` if it is to be retried. */
const outcomeOf = (rendering: Promise<unknown>) =>
  rendering.then(
    () => 'completed',
    (error: Error & { code: string }) => ((error.cause as Error)?.name === 'BrowserLostError' ? 'again' : error.code),
  );

async function expectGreen(bytes: Buffer, size: string, at = 300): Promise<void> {
  const picture = await Picture.of(bytes);
  expect([picture.size, picture.at(at, at)]).toEqual([size, '#00aa00']);
}

/**
 * Expects three consecutive correct pictures. Before them, the affected browser and its spare may each lose a capture, with an outcome of
 * `lost`. If a browser hangs, more may fail, because a hang is detected only after some time.
 */
async function expectServing(lost: readonly string[], deadlineMs: number): Promise<void> {
  const maxLost = lost.includes('CAPTURE_TIMEOUT') ? 6 : 2;
  for (let right = 0, tries = 0; right < 3; tries += 1) {
    // A short first deadline detects a hanging browser early. The later deadlines allow for a busy machine.
    const shot = engine.render(site.url('/'), {}, { deadlineMs: deadlineMs + 500 * tries });
    const outcome = await outcomeOf(shot);
    if (outcome !== 'completed') expect(lost).toContain(outcome);
    expect(tries).toBeLessThan(3 + maxLost);
    right = outcome === 'completed' ? right + 1 : 0;
    if (right > 0) await expectGreen((await shot).bytes, '640x480');
    // The replacement of a lost browser takes a while.
    else await delay(100);
  }
}

describe('a capture ends soon, and the next ones are correct, when', () => {
  test.for([
    ['its page crashes', '--type=renderer', 'SIGSEGV', /CAPTURE_FAILED|again/],
    ['the graphics process ends', '--type=gpu-process', 'SIGKILL', /completed/],
    ['the network process ends', 'network.mojom.NetworkService', 'SIGKILL', /completed|again/],
    ['no more processes can be started', '--type=zygote', 'SIGKILL', /completed|again/],
    ['the browser ends', '', 'SIGKILL', /again/],
    ['the browser hangs', '', 'SIGSTOP', /again/],
    ['its page hangs', '--type=renderer', 'SIGSTOP', /CAPTURE_TIMEOUT/],
    ['the graphics process hangs', '--type=gpu-process', 'SIGSTOP', /CAPTURE_TIMEOUT/],
  ] as const)('%s', async ([, kind, signal, wanted]) => {
    const hangs = signal === 'SIGSTOP';
    // The renderer does not detect that only one process of the browser hangs. Such a capture ends at its deadline, which is short here.
    const deadlineMs = hangs && kind !== '' ? 6000 : 20_000;
    const ending = outcomeOf(engine.render(site.url('/held'), {}, { deadlineMs }));
    await until('the page to be under way', () => held.length > 0);
    const victims = (await browserProcesses()).filter(({ command }) =>
      kind === '' ? !command.includes('--type=') : command.includes(kind),
    );
    expect(victims.length).toBeGreaterThan(0);
    for (const { pid } of victims) process.kill(pid, signal);
    for (const answer of held.splice(0)) answer();
    expect(await ending).toMatch(wanted);
    await expectServing(hangs ? ['again', 'CAPTURE_TIMEOUT'] : ['again'], hangs ? 1500 : 10_000);
    const gone = async () => {
      const alive = await Promise.all(victims.map(({ pid }) => isAlive(pid)));
      if (!alive.includes(true)) return true;
      // A hanging spare is detected only when it is used: by the second of two concurrent captures.
      const both = [1, 2].map(() => outcomeOf(engine.render(site.url('/'), {}, { deadlineMs: 1500 })));
      await Promise.all(both);
      return false;
    };
    await until('what was hit to be gone', gone);
    await until('nothing to be left of what has ended', () => zombiesOf(process.pid).length === 0);
  });

  test('the disk of its browser is full', async ({ skip }) => {
    if (disk instanceof Error) return skip(`nothing can be mounted here: ${disk.message}`);
    const filler = join(folder, 'filler');
    await run('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k']).catch(() => undefined);
    // Captures that need no disk space may complete.
    for (let count = 0; count < 3; count += 1) {
      const start = performance.now();
      const ending = engine.render(site.url('/'), { viewport: { width: 2000, height: 2000 } }, { deadlineMs: 3000 });
      const outcome = await outcomeOf(ending);
      // The capture ends at its deadline, and never with an incomplete picture.
      expect(performance.now() - start).toBeLessThan(5000);
      if (outcome === 'completed') await expectGreen((await ending).bytes, '2000x2000', 1990);
      else expect(['again', 'CAPTURE_FAILED', 'CAPTURE_TIMEOUT']).toContain(outcome);
    }
    await rm(filler);
    await expectServing(['again', 'CAPTURE_FAILED'], 10_000);
  });

  test('its browser can open no more files', async () => {
    const browsers = await browserProcesses();
    const limited = await Promise.allSettled(
      browsers.map(({ pid }) => run('prlimit', ['--pid', String(pid), '--nofile=24:24'])),
    );
    // Some captures may have failed, but not all.
    expect(limited.map(({ status }) => status)).toContain('fulfilled');
    await expectServing(['again', 'NAVIGATION_FAILED'], 10_000);
  });
});

test.for(['png', 'pdf'] as const)('a page that gets no processor for ten seconds is captured as %s', async (format) => {
  const { promise: loaded, resolve } = Promise.withResolvers<void>();
  onLoaded = resolve;
  const rendering = engine.render(site.url('/loads'), { format });
  rendering.catch(() => undefined);
  await loaded;
  const pages = (await browserProcesses()).filter(({ command }) => command.includes('--type=renderer'));
  for (const { pid } of pages) process.kill(pid, 'SIGSTOP');
  await delay(10_000);
  for (const { pid } of pages) process.kill(pid, 'SIGCONT');
  const { bytes, report } = await rendering;
  expect(report.softTimeouts).toEqual(['settle']);
  if (format === 'png') await expectGreen(bytes, '640x480');
});

test('a capture that times out in a hanging browser is retried once in another one', async () => {
  const others = new Set((await browserProcesses()).map(({ pid }) => pid));
  // The capture must time out before the liveness check detects the hang.
  const patient = await TestEngine.start({ livenessTimeoutMs: 120_000 });
  const stopped: number[] = [];
  try {
    const all = await browserProcesses();
    const started = all.filter(({ pid, command }) => !others.has(pid) && !command.includes('--type='));
    const busyMs = (pid: number) =>
      Math.max(...(readProcessTree(pid) ?? []).filter((one) => runsPages(one.pid)).map(({ cpuMs }) => cpuMs));
    stopBusiest = () => {
      const [busiest] = started.toSorted((a, b) => busyMs(b.pid) - busyMs(a.pid));
      if (stopped.length > 0 || busiest === undefined) return;
      stopped.push(busiest.pid);
      process.kill(busiest.pid, 'SIGSTOP');
    };
    const { bytes } = await patient.render(site.url('/hangs-once'), { timeout: 5000 });
    await expectGreen(bytes, '640x480');
    expect(site.hits.filter((path) => path === '/stop')).toHaveLength(2);
    await until('the browser that does not respond to have ended', async () => !(await isAlive(stopped[0] ?? 0)));
  } finally {
    await patient.close();
  }
});
