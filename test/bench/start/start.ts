import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { startProcess } from '../../../deploy/local/process.ts';
import { freePort } from '../../harness/free-port.ts';
import { removeFolder } from '../../harness/temp-folder.ts';
import { ensureTestTools } from '../../harness/tools.ts';
import { until } from '../../harness/until.ts';
import { percentilesOf } from '../http-load.ts';
import { describeMachine } from '../machine.ts';
import { Goals } from '../goals.ts';
import { settle } from '../speed/measure.ts';
import { memoryOfTree, treeTimeOf, type KindMemory } from '../speed/process-cost.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The steps of a start. Each is over when one of the services has logged this line. */
const steps = {
  'a controller leads': /became the leader of the fleet/,
  'the streams exist': /streams and consumers are provisioned/,
  'the first renderer is ready': /the renderer is ready/,
  'the status is known': /engine is operational/,
  'the front serves': /\bserving\b/,
} as const;

type Step = keyof typeof steps;

interface MeasuredStart {
  readonly steps: ReadonlyMap<Step, number>;
  /** Milliseconds until GET /status returns 200, and the processor time of all processes until then. */
  readonly ms: number;
  readonly cpuMs: number;
  /** Memory at rest by kind of process. */
  readonly memory: ReadonlyMap<string, KindMemory>;
}

const goalSeconds = 3;

/** Maximum memory at rest of a process of each service, in MiB: slightly more than in November 2026. */
const memoryGoals: Readonly<Record<string, number>> = { front: 80, controller: 60, renderer: 105 };

/** Starts the whole service several times as `npm start` does, from warm caches, each time until GET /status returns 200. */
export async function benchStart({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const tools = await ensureTestTools(say);
  const dataDir = await mkdtemp(join(tmpdir(), 'webcapture-bench-'));
  parts.defer(() => removeFolder(dataDir));
  // Fills the caches, and creates the streams.
  await startOnce(dataDir);
  const starts: MeasuredStart[] = [];
  for (const count = isQuick ? 3 : 9; starts.length < count;) {
    const start = await startOnce(dataDir);
    starts.push(start);
    say(`start ${starts.length} of ${count}: ${seconds(start.ms)}`);
  }

  process.stdout.write(`\n${await describeMachine(tools)}\n`);
  const goals = new Goals();
  goals.title(`npm start, ${starts.length} times: seconds until each step, median (least to most)`);
  for (const step of Object.keys(steps) as Step[]) {
    goals.note(step, spread(starts.flatMap((start) => start.steps.get(step) ?? [])));
  }
  const times = starts.map(({ ms }) => ms);
  goals.note('GET /status returns 200', spread(times));
  goals.note('processor time until then', spread(starts.map(({ cpuMs }) => cpuMs)));
  goals.atMost('start until GET /status returns 200, median', median(times) / 1000, goalSeconds, ' s');

  goals.title('Memory of a process at rest, median (proportional set size; processes of this kind)');
  for (const kind of new Set(starts.flatMap(({ memory }) => [...memory.keys()]))) {
    const of = starts.flatMap(({ memory }) => memory.get(kind) ?? []);
    const name = `${kind} (${median(of.map(({ processes }) => processes))})`;
    const mebibytes = median(of.map(({ bytes, processes }) => bytes / processes)) / 1024 ** 2;
    const goal = memoryGoals[kind];
    if (goal === undefined) goals.note(name, `${mebibytes.toFixed(1)} MiB`);
    else goals.atMost(`${name}, memory at rest`, mebibytes, goal, ' MiB');
  }
}

async function startOnce(dataDir: string): Promise<MeasuredStart> {
  const port = await freePort();
  const reached = new Map<Step, number>();
  const begin = performance.now();
  await using started = await startProcess({
    name: 'npm start',
    command: process.execPath,
    args: ['deploy/local/bootstrap.mjs', 'deploy/local/start.ts'],
    cwd: root,
    env: { ...process.env, PORT: String(port), WEBCAPTURE_DATA_DIR: dataDir },
    onLine: (line) => {
      for (const [step, pattern] of Object.entries(steps) as [Step, RegExp][]) {
        if (!reached.has(step) && pattern.test(line)) reached.set(step, performance.now() - begin);
      }
    },
  });
  const isOperational = async () => {
    // Shortly after a restart, fronts still serve the status of the previous start.
    if (!reached.has('the status is known')) return false;
    const response = await fetch(`http://127.0.0.1:${port}/status`);
    await response.body?.cancel();
    return response.status === 200;
  };
  await until('GET /status to return 200', isOperational, { intervalMs: 10 });
  const ms = performance.now() - begin;
  const cpuMs = treeTimeOf(started.pid);
  await settle({ processes: () => [{ part: 'npm start', pid: started.pid }] });
  const memory = memoryOfTree(started.pid);
  // Each process ends in order before the next start. By default, the service is killed after 5 s.
  await started.stop({ graceMs: 30_000 });
  return { steps: reached, ms, cpuMs, memory };
}

function spread(times: readonly number[]): string {
  return `${seconds(median(times))} (${seconds(Math.min(...times))} to ${seconds(Math.max(...times))})`;
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;

const median = (values: readonly number[]) => percentilesOf(values).p50;
