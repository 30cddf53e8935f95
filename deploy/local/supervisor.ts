import { configExitCode } from '@webcapture/shared/runtime/run-service.ts';
import { backoffMs, delay, onAbort } from '@webcapture/shared/runtime/deadline.ts';
import type { ServiceName } from '@webcapture/shared/runtime/service-command.ts';
import type { GuardedProcess, ProcessExit } from './process.ts';
import { StartError } from './start-error.ts';

interface Launched {
  readonly process: GuardedProcess;
  /** Resolves when it can do its work; `onNotReady` gets what it still waits for. */
  readonly ready: (onNotReady: (why: string) => void) => Promise<void>;
}

/** One of the processes that are kept running. */
export interface ProcessSpec {
  readonly name: string;
  /** Whose sources it runs; absent for a program of others. */
  readonly service?: ServiceName;
  /** It is started when all of the stages before are ready. */
  readonly startStage: number;
  /** It is stopped when all of the stages before are gone. */
  readonly stopStage: number;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly graceMs: number;
  /** Called again for each restart. The signal aborts when all is to stop. */
  readonly launch: (signal: AbortSignal) => Promise<Launched>;
}

export interface SupervisorOptions {
  readonly log: (line: string) => void;
  /** For all to be ready. */
  readonly readyDeadlineMs?: number;
  /** How often to say what is still waited for. */
  readonly slowMs?: number;
  /** A process that lives shorter than this dies quickly. */
  readonly quickMs?: number;
  /** Milliseconds before the first restart; they double with each further quick death, up to 10 s. */
  readonly restartMs?: number;
}

const maxRestartMs = 10_000;

/** Quick deaths in a row after which a process that was never ready is given up, and all with it. */
const maxDeathsAtStart = 2;

/** Keeps a table of processes running: starts them in stages, restarts what dies, stops them in order. */
export class Supervisor {
  readonly #specs: readonly ProcessSpec[];
  readonly #options: Required<SupervisorOptions>;
  readonly #running = new Map<string, GuardedProcess>();
  readonly #loops = new Map<string, Promise<void>>();
  readonly #waitingFor = new Map<string, string>();
  /** Names of processes that are to be restarted, and what ends the pause of one that has ended. */
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

  /** Rejects with one clear line when a process that was never ready keeps dying; never resolves. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Resolves when all processes are ready. Throws when one keeps dying or the time is up. */
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
   * Restarts a process at once, because its sources were edited: it is stopped within its grace, or its pause ends. If it then ends
   * before it is ready, it waits for the next call, since the same sources would fail again.
   */
  restart(name: string): void {
    if (this.#stopping.signal.aborted) return;
    this.#restarts.add(name);
    this.#pauses.get(name)?.abort();
    const spec = this.#specs.find((it) => it.name === name);
    void this.#running.get(name)?.stop({ graceMs: spec?.graceMs ?? 0 });
  }

  /** Stops all in order; resolves when nothing is left. */
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

  /** Kills all, without any grace or order. */
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
      // A process that was ready before is restarted for ever: what ended it may pass, and the others work meanwhile.
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

  /** Waits for `ms` milliseconds, or for ever without it; ends earlier when the process is restarted or the supervisor stops. */
  async #pause(name: string, ms?: number): Promise<void> {
    const pause = new AbortController();
    this.#pauses.set(name, pause);
    const end = AbortSignal.any([pause.signal, this.#stopping.signal]);
    await (ms === undefined ? new Promise<void>((resolve) => void onAbort(end, resolve)) : delay(ms, end));
    this.#pauses.delete(name);
  }

  /** One life of a process; answers with how it ended, whether another try is without hope, and whether it was ready. */
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
    // The stop or a restart began while it was being started, and did not see it.
    if (this.#stopping.signal.aborted || this.#restarts.has(spec.name)) {
      void process.stop({ graceMs: this.#atOnce ? 0 : spec.graceMs });
    }
    launched
      .ready((why) => {
        if (this.#waitingFor.has(spec.name)) this.#waitingFor.set(spec.name, why);
      })
      // When it does not get ready, its end or the deadline of the start tells.
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
