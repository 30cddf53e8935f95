import { configExitCode } from '@webcapture/shared/runtime/exit-code.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startProcess, type GuardedProcess } from '../../../deploy/local/process.ts';
import { Supervisor, type ProcessSpec, type SupervisorOptions } from '../../../deploy/local/supervisor.ts';
import { patient } from './support.ts';

interface Recorded {
  readonly events: string[];
  readonly lines: string[];
  readonly processes: Map<string, GuardedProcess>;
}

const sleeper = 'sleep 1000 & wait';

/** Specs that record starts and ends. */
function recorder() {
  const recorded: Recorded = { events: [], lines: [], processes: new Map() };
  const spec = (
    name: string,
    stages: { start: number; stop: number },
    options: { script?: string; ready?: () => Promise<void> } = {},
  ): ProcessSpec => ({
    name,
    startStage: stages.start,
    stopStage: stages.stop,
    graceMs: 2000,
    launch: async () => {
      recorded.events.push(`start ${name}`);
      const process = await startProcess({ name, command: 'sh', args: ['-c', options.script ?? sleeper] });
      recorded.processes.set(name, process);
      void process.exited.then(() => recorded.events.push(`end ${name}`));
      return {
        process,
        ready: async () => {
          await options.ready?.();
          recorded.events.push(`ready ${name}`);
        },
      };
    },
  });
  const supervise = (specs: readonly ProcessSpec[], options: Partial<SupervisorOptions> = {}) => {
    const supervisor = new Supervisor(specs, { log: (line) => recorded.lines.push(line), restartMs: 10, ...options });
    onTestFinished(() => supervisor.stopAtOnce());
    return supervisor;
  };
  return { recorded, spec, supervise };
}

describe('Supervisor', () => {
  test('starts and stops in stages', async () => {
    const { recorded, spec, supervise } = recorder();
    const supervisor = supervise([
      spec('broker', { start: 0, stop: 2 }),
      spec('front', { start: 1, stop: 0 }),
      spec('renderer', { start: 1, stop: 1 }),
    ]);
    await supervisor.start();
    await supervisor.stop();
    expect(recorded.events.slice(0, 2)).toEqual(['start broker', 'ready broker']);
    expect(recorded.events.slice(2, 6).toSorted()).toEqual([
      'ready front',
      'ready renderer',
      'start front',
      'start renderer',
    ]);
    expect(recorded.events.slice(6)).toEqual(['end front', 'end renderer', 'end broker']);
  });

  test('reports processes that are not ready yet', async () => {
    const { recorded, spec, supervise } = recorder();
    const warm = Promise.withResolvers<void>();
    const specs = [
      spec('quick', { start: 0, stop: 0 }),
      spec('slow', { start: 0, stop: 0 }, { ready: () => warm.promise }),
    ];
    const supervisor = supervise(specs, { slowMs: 50 });
    const started = supervisor.start();
    await expect.poll(() => recorded.lines, patient).toContain('still waiting for slow (it is being started)');
    warm.resolve();
    await started;
  });

  test('fails if a process is not ready in time', async () => {
    const { spec, supervise } = recorder();
    const never = () => new Promise<void>(() => undefined);
    const supervisor = supervise([spec('slow', { start: 0, stop: 0 }, { ready: never })], { readyDeadlineMs: 200 });
    await expect(supervisor.start()).rejects.toThrow('not ready after 0.2 s: slow (it is being started)');
  });

  test('restarts a process that ends', async () => {
    const { recorded, spec, supervise } = recorder();
    const supervisor = supervise([spec('renderer', { start: 0, stop: 0 })], { quickMs: 0 });
    await supervisor.start();
    for (let deaths = 1; deaths <= 6; deaths++) {
      recorded.processes.get('renderer')?.kill('SIGKILL');
      await expect
        .poll(() => recorded.events.filter((event) => event === 'ready renderer'), patient)
        .toHaveLength(deaths + 1);
    }
    expect(recorded.lines[0]).toMatch(/^renderer ended after \d+\.\d s \(by SIGKILL\); starting it again in 0\.0 s$/);
    await supervisor.stop();
    expect(recorded.events.at(-1)).toBe('end renderer');
  });

  test('keeps restarting a process that was ready once, with growing pauses, and restarts no other process', async () => {
    const { recorded, spec, supervise } = recorder();
    const supervisor = supervise([
      spec('renderer', { start: 0, stop: 0 }, { script: `sleep 0.05; exit ${configExitCode}` }),
      spec('front', { start: 0, stop: 0 }),
    ]);
    await supervisor.start();
    let failed = false;
    supervisor.failed.catch(() => (failed = true));
    await expect.poll(() => recorded.lines, patient).toHaveLength(7);
    const pauses = recorded.lines.map((line) => Number(/starting it again in ([\d.]+) s$/.exec(line)?.[1]));
    expect(pauses[6]).toBeGreaterThan(pauses[0] ?? 1);
    expect(failed).toBe(false);
    expect(recorded.events.filter((event) => event.endsWith(' front'))).toEqual(['start front', 'ready front']);
    await supervisor.stop();
    expect(recorded.events.at(-1)).toMatch(/^end/);
  });

  describe('after an edit', () => {
    const stages = { start: 0, stop: 0 };

    test('only that process restarts, at once', async () => {
      const { recorded, spec, supervise } = recorder();
      const supervisor = supervise([spec('front', stages), spec('renderer', stages)], { restartMs: 60_000 });
      await supervisor.start();
      for (let edits = 1; edits <= 3; edits++) {
        supervisor.restart('front');
        await expect.poll(() => recorded.lines, patient).toHaveLength(edits);
      }
      expect(recorded.lines).toEqual(Array.from({ length: 3 }, () => 'front is ready again'));
      expect(recorded.events.filter((event) => event.endsWith(' renderer'))).toEqual([
        'start renderer',
        'ready renderer',
      ]);
    });

    test('a process that ends before it is ready waits for the next edit', async () => {
      const { recorded, supervise, spec } = recorder();
      let script = sleeper;
      const never = () => new Promise<void>(() => undefined);
      const edited = spec('front', stages);
      const broken = spec('front', stages, { script: 'exit 1', ready: never });
      const launch = (signal: AbortSignal) => (script === sleeper ? edited : broken).launch(signal);
      const supervisor = supervise([{ ...edited, launch }, spec('renderer', stages)]);
      await supervisor.start();
      script = 'exit 1';
      for (let edits = 1; edits <= 2; edits++) {
        supervisor.restart('front');
        await expect.poll(() => recorded.lines, patient).toHaveLength(edits);
      }
      expect(recorded.lines[1]).toMatch(/^front ended after \d+\.\d s \(exit code 1\); waiting for the next edit$/);
      script = sleeper;
      supervisor.restart('front');
      await expect.poll(() => recorded.lines, patient).toContain('front is ready again');
      expect(recorded.events.filter((event) => event === 'start front')).toHaveLength(4);
      await supervisor.stop();
    });

    test('a process that waits for an edit or its backoff is stopped with the others', async () => {
      const { recorded, spec, supervise } = recorder();
      const supervisor = supervise([spec('front', stages, { script: 'sleep 0.1; exit 9' })], { restartMs: 60_000 });
      await supervisor.start();
      await expect.poll(() => recorded.lines, patient).toHaveLength(1);
      // The restart ends the backoff.
      supervisor.restart('front');
      await expect.poll(() => recorded.events.filter((event) => event === 'start front'), patient).toHaveLength(2);
      await supervisor.stop();
    });
  });

  test('ends with an error if a process ends twice before it is ready', async () => {
    const { recorded, spec, supervise } = recorder();
    const never = () => new Promise<void>(() => undefined);
    const supervisor = supervise([spec('front', { start: 0, stop: 0 }, { script: 'exit 1', ready: never })]);
    await expect(supervisor.start()).rejects.toThrow(/^front ended .* \(exit code 1\), as it did 2 times in a row/);
    expect(recorded.events.filter((event) => event === 'start front')).toHaveLength(2);
  });

  test('counts a process that cannot be launched as ended', async () => {
    const { supervise } = recorder();
    const launch = () => Promise.reject(new Error('no such file'));
    const supervisor = supervise([{ name: 'broker', startStage: 0, stopStage: 0, graceMs: 0, launch }]);
    await expect(supervisor.start()).rejects.toThrow(/^broker ended after .* \(no such file\)/);
  });

  test('cancels the start and ends all processes on a stop', async () => {
    const { recorded, spec, supervise } = recorder();
    const never = () => new Promise<void>(() => undefined);
    const supervisor = supervise([
      spec('broker', { start: 0, stop: 1 }),
      spec('front', { start: 1, stop: 0 }, { ready: never }),
      spec('never', { start: 2, stop: 0 }),
    ]);
    const failure = supervisor.start().catch((error: unknown) => error);
    await expect.poll(() => recorded.events, patient).toContain('start front');
    await supervisor.stop();
    expect(String(await failure)).toContain('stopped before all was ready');
    expect(recorded.events.slice(-2)).toEqual(['end front', 'end broker']);
    expect(recorded.events).not.toContain('start never');
  });

  test('does not wait for processes on an immediate stop', async () => {
    const { recorded, spec, supervise } = recorder();
    const deaf = 'trap "" TERM; echo; while true; do sleep 1000 & wait; done';
    const specs = ['a', 'b'].map((name, stop) => ({
      ...spec(name, { start: 0, stop }, { script: deaf }),
      graceMs: 60_000,
    }));
    const supervisor = supervise(specs);
    await supervisor.start();
    const begin = performance.now();
    const stopped = supervisor.stop();
    await supervisor.stopAtOnce();
    await stopped;
    expect(performance.now() - begin).toBeLessThan(30_000);
    expect(recorded.events.slice(-2).toSorted()).toEqual(['end a', 'end b']);
  });
});
