import { configExitCode } from '@webcapture/shared/runtime/exit-code.ts';
import { backoffMs, delay, onAbort } from '@webcapture/shared/runtime/deadline.ts';
import type { ServiceName } from '@webcapture/shared/runtime/service-command.ts';
import type { GuardedProcess, ProcessExit } from './process.ts';
import { StartError } from './start-error.ts';

interface Launched {
  readonly process: GuardedProcess;
  /** Resolves when the process is ready; `onNotReady` receives the reason why it is not. */
  readonly ready: (onNotReady: (why: string) => void) => Promise<void>;
}

/** A process that the supervisor keeps running. */
export interface ProcessSpec {
  readonly name: string;
  /** The service of this project that the process runs; undefined for other programs. */
  readonly service?: ServiceName;
  /** The process starts when all processes of earlier stages are ready. */
  readonly startStage: number;
  /** The process stops when all processes of earlier stages have ended. */
  readonly stopStage: number;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly graceMs: number;
  /** Called for each start. The signal aborts when the supervisor stops. */
  readonly launch: (signal: AbortSignal) => Promise<Launched>;
}

export interface SupervisorOptions {
  readonly log: (line: string) => void;
  /** Timeout until all processes are ready. */
  readonly readyDeadlineMs?: number;
  /** Interval of messages about processes that are not ready. */
  readonly slowMs?: number;
  /** A process that ends within this time after its start counts as having died quickly. */
  readonly quickMs?: number;
  /** Milliseconds before the first restart. The time doubles after each further quick death, up to 10 s. */
  readonly restartMs?: number;
}

const maxRestartMs = 10_000;

/** Number of consecutive quick deaths after which the supervisor fails, if the process was never ready. */
const maxDeathsAtStart = 2;

/** Keeps processes running: starts them in stages, restarts those that end, stops them in order. */
export class Supervisor {
  readonly #specs: readonly ProcessSpec[];
  readonly #options: Required<SupervisorOptions>;
  readonly #running = new Map<string, GuardedProcess>();
  readonly #loops = new Map<string, Promise<void>>();
  readonly #waitingFor = new Map<string, string>();
  /** Names of processes that must be restarted, and controllers that end the pause of an ended process. */
  readonly #restarts = new Set<string>();
  readonly #pauses = new Map<string, AbortController>();
  readonly #stopping = new AbortController();
  readonly #failure = Promise.withResolvers<never>();
  #atOnce = false;

  constructor(specs: readonly ProcessSpec[], options: SupervisorOptions) {
    this.#specs = specs;
    this.#options = {
      readyDeadlineMs: 120_000,
      slowMs: 5000,
      quickMs: 10_000,
      restartMs: 500,
      ...options,
    };
    this.#failure.promise.catch(() => undefined);
  }

  /** Rejects with one line if a process that was never ready dies repeatedly; never resolves. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Resolves when all processes are ready. Throws if one dies repeatedly or the timeout is exceeded. */
  async start(): Promise<void> {
    const { log, slowMs, readyDeadlineMs } = this.#options;
    const waiting = () => [...this.#waitingFor].map(([name, why]) => `${name} (${why})`).join(', ');
    const slow = setInterval(() => log(`still waiting for ${waiting()}`), slowMs);
    const deadline = setTimeout(() => {
      this.#failure.reject(new StartError(`not ready after ${readyDeadlineMs / 1000} s: ${waiting()}`));
    }, readyDeadlineMs);
    try {
      for (const stage of stagesOf(this.#specs, 'startStage')) {
        await Promise.race([Promise.all(stage.map((spec) => this.#keep(spec))), this.failed, this.#stopped()]);
      }
    } finally {
      clearInterval(slow);
      clearTimeout(deadline);
    }
  }

  /**
   * Restarts a process immediately, because its sources were edited: stops it within its grace period, or ends its pause. If it then exits
   * before it is ready, it is not restarted until the next call, because the same sources would fail again.
   */
  restart(name: string): void {
    if (this.#stopping.signal.aborted) return;
    this.#restarts.add(name);
    this.#pauses.get(name)?.abort();
    const spec = this.#specs.find((it) => it.name === name);
    void this.#running.get(name)?.stop({ graceMs: spec?.graceMs ?? 0 });
  }

  /** Stops all processes in order; resolves when all have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopping'));
    for (const stage of stagesOf(this.#specs, 'stopStage')) {
      await Promise.all(
        stage.map(async ({ name, graceMs }) => {
          await this.#running.get(name)?.stop({ graceMs: this.#atOnce ? 0 : graceMs });
          await this.#loops.get(name);
        }),
      );
    }
  }

  /** Kills all processes immediately, without grace periods. */
  async stopAtOnce(): Promise<void> {
    this.#atOnce = true;
    this.#stopping.abort(new Error('stopping'));
    await Promise.all([...this.#running.values()].map((process) => process.stop({ graceMs: 0 })));
    await Promise.all(this.#loops.values());
  }

  /** Rejects when the stop begins. */
  #stopped(): Promise<never> {
    const { signal } = this.#stopping;
    return new Promise((_, reject) => {
      const stop = () => reject(new Error('stopped before all was ready'));
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
  }

  /** Starts the loop that keeps one process running; resolves when the process is ready for the first time. */
  #keep(spec: ProcessSpec): Promise<void> {
    const ready = Promise.withResolvers<void>();
    this.#waitingFor.set(spec.name, 'it is being started');
    this.#loops.set(
      spec.name,
      this.#loop(spec, () => {
        this.#waitingFor.delete(spec.name);
        ready.resolve();
      }),
    );
    return ready.promise;
  }

  async #loop(spec: ProcessSpec, onReady: () => void): Promise<void> {
    const { log, quickMs, restartMs } = this.#options;
    const { signal } = this.#stopping;
    for (let quickDeaths = 0; ;) {
      const begin = performance.now();
      const isEdited = this.#restarts.delete(spec.name);
      const { end, hopeless, gotReady } = await this.#runOnce(spec, () => {
        onReady();
        if (isEdited) log(`${spec.name} is ready again`);
      });
      if (signal.aborted) return;
      if (this.#restarts.has(spec.name)) {
        quickDeaths = 0;
        continue;
      }
      const livedMs = performance.now() - begin;
      quickDeaths = livedMs < quickMs ? quickDeaths + 1 : 0;
      const what = `${spec.name} ended after ${(livedMs / 1000).toFixed(1)} s (${end})`;
      if (isEdited && !gotReady) {
        log(`${what}; waiting for the next edit`);
        await this.#pause(spec.name);
        if (signal.aborted) return;
        continue;
      }
      // A process that was ready before is restarted without a limit: the cause may be temporary, and the other processes continue
      // to work.
      const wasReady = !this.#waitingFor.has(spec.name);
      if (hopeless && !wasReady) {
        this.#failure.reject(
          new StartError(`${spec.name} cannot start with this configuration; its lines above say why`),
        );
        return;
      }
      if (quickDeaths >= maxDeathsAtStart && !wasReady) {
        this.#failure.reject(
          new StartError(`${what}, as it did ${quickDeaths} times in a row; its lines above say why`),
        );
        return;
      }
      const pauseMs = backoffMs(Math.max(1, quickDeaths), restartMs, maxRestartMs);
      log(`${what}; starting it again in ${(pauseMs / 1000).toFixed(1)} s`);
      await this.#pause(spec.name, pauseMs);
      if (signal.aborted) return;
    }
  }

  /** Waits for `ms` milliseconds; without a limit if undefined. Returns earlier if the process is restarted or the supervisor stops. */
  async #pause(name: string, ms?: number): Promise<void> {
    const pause = new AbortController();
    this.#pauses.set(name, pause);
    const end = AbortSignal.any([pause.signal, this.#stopping.signal]);
    await (ms === undefined ? new Promise<void>((resolve) => void onAbort(end, resolve)) : delay(ms, end));
    this.#pauses.delete(name);
  }

  /** Runs a process once. Returns how it ended, whether a retry is useless, and whether it was ready. */
  async #runOnce(
    spec: ProcessSpec,
    onReady: () => void,
  ): Promise<{ end: string; hopeless: boolean; gotReady: boolean }> {
    let launched: Launched;
    let gotReady = false;
    try {
      launched = await spec.launch(this.#stopping.signal);
    } catch (error) {
      return { end: messageOf(error), hopeless: false, gotReady };
    }
    const { process } = launched;
    this.#running.set(spec.name, process);
    // The stop or the restart began while the process was starting.
    if (this.#stopping.signal.aborted || this.#restarts.has(spec.name)) {
      void process.stop({ graceMs: this.#atOnce ? 0 : spec.graceMs });
    }
    launched
      .ready((why) => {
        if (this.#waitingFor.has(spec.name)) this.#waitingFor.set(spec.name, why);
      })
      // A process that does not become ready ends, or the start exceeds its deadline; both are reported elsewhere.
      .then(
        () => {
          gotReady = true;
          onReady();
        },
        () => undefined,
      );
    const exit = await process.exited;
    this.#running.delete(spec.name);
    return { end: describeExit(exit), hopeless: exit.code === configExitCode, gotReady };
  }
}

function stagesOf(specs: readonly ProcessSpec[], by: 'startStage' | 'stopStage'): readonly ProcessSpec[][] {
  const stages = [...new Set(specs.map((spec) => spec[by]))].sort((a, b) => a - b);
  return stages.map((stage) => specs.filter((spec) => spec[by] === stage));
}

function describeExit({ code, signal }: ProcessExit): string {
  return code === null ? `by ${signal}` : `exit code ${code}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
