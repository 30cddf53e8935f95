import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Family, lookEveryMs } from '../../../deploy/local/leftovers.mjs';
import { startProcess, type ProcessOptions } from '../../../deploy/local/process.ts';
import { patient, processesNaming, tempDir } from './support.ts';

const processModule = new URL('../../../deploy/local/process.ts', import.meta.url).href;

describe('startProcess', () => {
  test('delivers every line and the exit code', async () => {
    const lines: string[] = [];
    const child = await startProcess({
      name: 'printer',
      command: 'sh',
      args: ['-c', 'echo one; echo two >&2; printf three; exit 7'],
      onLine: (line, stream) => lines.push(`${stream} ${line}`),
    });
    expect(await child.exited).toEqual({ code: 7, signal: null });
    expect(lines.toSorted()).toEqual(['stderr two', 'stdout one', 'stdout three']);
  });

  test('passes the environment and working folder', async () => {
    const cwd = await tempDir();
    const lines: string[] = [];
    const child = await startProcess({
      name: 'printer',
      command: 'sh',
      args: ['-c', 'pwd; echo $COLOR'],
      cwd,
      env: { PATH: process.env['PATH'], COLOR: 'green' },
      onLine: (line) => lines.push(line),
    });
    await child.exited;
    expect(lines).toEqual([expect.stringContaining(cwd), 'green']);
  });

  test('throws if the command does not exist', async () => {
    await expect(startProcess({ name: 'nothing', command: '/nonexistent/program' })).rejects.toThrow(
      'nothing could not be started: spawn /nonexistent/program ENOENT',
    );
  });

  test('sends signals to the process itself', async () => {
    const child = await startProcess({ name: 'sleeper', command: 'sleep', args: ['1000'] });
    process.kill(child.pid, 0);
    child.kill('SIGKILL');
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  test('stops a process with a signal, and kills it after the grace period', async () => {
    const polite = await startReady({
      name: 'polite',
      command: 'sh',
      args: ['-c', 'trap "exit 3" TERM; sleep 1000 & echo ready; wait'],
    });
    expect(await polite.stop()).toEqual({ code: 3, signal: null });

    const deaf = await startReady({
      name: 'deaf',
      command: process.execPath,
      args: ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("ready")'],
    });
    const begin = performance.now();
    expect(await deaf.stop({ graceMs: 300 })).toEqual({ code: null, signal: 'SIGKILL' });
    expect(performance.now() - begin).toBeGreaterThanOrEqual(300);
  });

  test('stops a process by waiting for its end if no signal is wanted', async () => {
    const child = await startProcess({
      name: 'finishing',
      command: 'sh',
      args: ['-c', 'sleep 0.5; exit 0'],
      patient: true,
    });
    expect(await child.stop({ graceMs: 10_000 })).toEqual({ code: 0, signal: null });
  });

  test('ends all descendants, including one in its own session', async () => {
    const token = randomUUID();
    const child = await startProcess({ name: 'parent', command: process.execPath, args: ['-e', familyScript, token] });
    await expect.poll(() => processesNaming(token), patient).toHaveLength(3);
    child.kill('SIGKILL');
    await child.exited;
    // On systems other than Linux, only the process group is ended.
    const fled = process.platform === 'linux' ? 0 : 1;
    await expect.poll(async () => (await processesNaming(token)).length, patient).toBeLessThanOrEqual(fled);
  });

  test.runIf(process.platform === 'linux')('also ends a descendant with another environment', async () => {
    const token = randomUUID();
    const child = await startProcess({ name: 'parent', command: process.execPath, args: ['-e', browserScript, token] });
    await expect.poll(() => processesNaming(token), patient).toHaveLength(2);
    // The guard must look for descendants before it forwards a signal.
    child.kill('SIGKILL');
    await child.exited;
    await expect.poll(() => processesNaming(token), patient).toHaveLength(0);
  });

  test.runIf(process.platform === 'linux')(
    'knows the descendants of a process that exited, as it looks for them regularly',
    async () => {
      const token = randomUUID();
      // The timer is fake, because the search of the guard is not visible from outside.
      vi.useFakeTimers({ toFake: ['setInterval'] });
      onTestFinished(() => void vi.useRealTimers());
      const parent = spawn(process.execPath, ['-e', toldScript, token], { stdio: ['pipe', 'ignore', 'inherit'] });
      onTestFinished(() => void parent.kill('SIGKILL'));
      const family = new Family(parent.pid ?? 0);
      parent.stdin.write('go');
      const pids = async () => (await processesNaming(token)).map(({ pid }) => pid);
      await expect.poll(pids, patient).toHaveLength(2);
      const child = (await pids()).find((pid) => pid !== parent.pid);
      if (child === undefined) throw new Error('it has ended');
      onTestFinished(() => void process.kill(child, 'SIGKILL'));
      vi.advanceTimersByTime(lookEveryMs);
      parent.kill('SIGKILL');
      await once(parent, 'exit');
      expect(family.look()).toEqual([child]);
    },
  );

  test('ends the process if its guard is killed', async () => {
    const token = randomUUID();
    const child = await startProcess({ name: token, command: process.execPath, args: ['-e', sleepScript, token] });
    const [guard] = await processesNaming(`guard.mjs ${token}`);
    process.kill(guard?.pid ?? 0, 'SIGKILL');
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await expect.poll(() => processesNaming(token), patient).toHaveLength(0);
  });

  test('ends everything if the starter is killed', async () => {
    const token = randomUUID();
    const starter = await startStarter(token);
    await expect.poll(async () => (await processesNaming(`${token}-child`)).length, patient).toBeGreaterThanOrEqual(3);
    starter.kill('SIGKILL');
    await expect.poll(() => processesNaming(token), patient).toHaveLength(0);
  });

  test('ends everything if the starter is killed during a start', async () => {
    const tokens = Array.from({ length: 8 }, () => randomUUID());
    await Promise.all(
      tokens.map(async (token, index) => {
        const starter = await startStarter(token);
        await new Promise((resolve) => setTimeout(resolve, index * 15));
        starter.kill('SIGKILL');
      }),
    );
    for (const token of tokens) {
      await expect.poll(() => processesNaming(token), patient).toHaveLength(0);
    }
  });

  test('ends processes that a guarded process guards', async () => {
    const token = randomUUID();
    const outer = await startProcess({
      name: 'outer',
      command: process.execPath,
      args: ['--input-type=module-typescript', '-e', starterScript(token)],
    });
    await expect.poll(async () => (await processesNaming(`${token}-child`)).length, patient).toBeGreaterThanOrEqual(3);
    outer.kill('SIGKILL');
    await outer.exited;
    await expect.poll(() => processesNaming(token), patient).toHaveLength(0);
  });
});

/** Starts a process and waits for its first line, because it handles signals only after that. */
async function startReady(options: Omit<ProcessOptions, 'onLine'>) {
  const ready = Promise.withResolvers<void>();
  const child = await startProcess({ ...options, onLine: () => ready.resolve() });
  await ready.promise;
  return child;
}

const sleepScript = 'setInterval(() => {}, 1000)';

/** A process with a child in its group and one in its own session. All have the last argument. */
const familyScript = `
  const { spawn } = require('node:child_process');
  const token = process.argv.at(-1);
  const sleeper = ['-e', 'setInterval(() => {}, 1000)', token];
  spawn(process.execPath, sleeper, { stdio: 'ignore' });
  spawn(process.execPath, sleeper, { stdio: 'ignore', detached: true });
  setInterval(() => {}, 1000);
`;

/** A process whose child has its own session and environment, as a browser has. */
const browserScript = `
  const { spawn } = require('node:child_process');
  const sleeper = ['-e', 'setInterval(() => {}, 1000)', process.argv.at(-1)];
  spawn(process.execPath, sleeper, { stdio: 'ignore', detached: true, env: {} });
  setInterval(() => {}, 1000);
`;

/** The same process, but it starts the child after input. */
const toldScript = `process.stdin.once('data', () => { ${browserScript} });`;

function starterScript(token: string): string {
  return `
    import { startProcess } from '${processModule}';
    process.stdout.write('starting\\n');
    await startProcess({
      name: '${token}-guard',
      command: process.execPath,
      args: ['-e', ${JSON.stringify(familyScript)}, '${token}-child'],
      graceOnLossMs: 500,
    });
    setInterval(() => {}, 1000);
  `;
}

/** Starts a process that starts a guarded family. Resolves when that start begins. */
async function startStarter(token: string) {
  const path = join(await tempDir(), 'starter.ts');
  await writeFile(path, starterScript(token));
  const starter = spawn(process.execPath, [path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve) => starter.stdout.once('data', resolve));
  return starter;
}
