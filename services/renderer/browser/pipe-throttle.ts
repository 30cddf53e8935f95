import { performance } from 'node:perf_hooks';
import process from 'node:process';
import type { Browser } from 'playwright';
import type { Readable, Writable } from 'node:stream';

/** The parts of Playwright's internal objects that this module uses; they are not part of the public interface. */
interface Internals {
  readonly _connection?: {
    toImpl?(browser: Browser): {
      readonly _connection?: {
        readonly rootSession?: object;
        readonly _transport?: { readonly _pipeRead?: Readable; readonly _pipeWrite?: Writable };
      };
    };
  };
}

/**
 * Processor time of this process that the messages of one browser may use: at first `burstMs` milliseconds, then `share` of the elapsed
 * time.
 */
const burstMs = 500;
const share = 0.25;

/** Limits of a pause in milliseconds. A shorter pause costs more than it saves. During a longer one, the browser would seem to hang. */
const pauseMs = { min: 10, max: 1000 } as const;

/**
 * Limits the time that this process, which runs all captures, spends on the messages of one browser. Messages beyond the limit wait in the
 * browser that sends them.
 *
 * @throws Error if this version of Playwright has no known pipe, because the messages of a page would be unlimited
 */
export class PipeThrottle {
  /** Number of messages of all browsers. */
  static #all = 0;

  #messages = 0;
  #creditMs = burstMs;
  #last = { at: performance.now(), cpuMs: 0, messages: 0, allBefore: 0 };

  constructor(browser: Browser) {
    const impl = (browser as unknown as Internals)._connection?.toImpl?.(browser);
    const { rootSession, _transport: transport } = impl?._connection ?? {};
    const pipe = transport?._pipeRead;
    if (pipe === undefined)
      throw new Error(
        'This version of Playwright is not supported, because its pipe to the browser is unknown. Install the version in package.json.',
      );
    if (rootSession !== undefined) sendWithoutTraces(rootSession);
    if (transport?._pipeWrite) gatherWrites(transport._pipeWrite);
    pipe.on('data', (chunk: Buffer) => this.#take(pipe, chunk));
  }

  /** Number of messages so far. */
  get messages(): number {
    return this.#messages;
  }

  #take(pipe: Readable, chunk: Buffer): void {
    const [last, at] = [this.#last, performance.now()];
    const { user, system } = process.threadCpuUsage();
    const cpuMs = (user + system) / 1000;
    // The time since the last messages of this browser was used for them and for messages of other browsers. Processor time is counted,
    // because on a busy machine this process also waits for a processor.
    const all = PipeThrottle.#all - last.allBefore;
    const spentMs = all === 0 ? 0 : ((cpuMs - last.cpuMs) * last.messages) / all;
    this.#creditMs = Math.min(burstMs, this.#creditMs + (at - last.at) * share) - spentMs;
    const messages = countEnds(chunk);
    this.#last = { at, cpuMs, messages, allBefore: PipeThrottle.#all };
    this.#messages += messages;
    PipeThrottle.#all += messages;
    const dueMs = -this.#creditMs / share;
    if (dueMs < pauseMs.min || pipe.isPaused()) return;
    pipe.pause();
    setTimeout(() => pipe.resume(), Math.min(dueMs, pauseMs.max));
  }
}

/**
 * Writes all messages of one turn of the event loop together. Playwright writes each message and its terminating zero separately, and a
 * dozen messages open a page.
 */
function gatherWrites(pipe: Writable): void {
  const write = pipe.write.bind(pipe) as (chunk: string) => boolean;
  pipe.write = (chunk: string) => {
    if (pipe.writableCorked === 0) {
      pipe.cork();
      process.nextTick(() => pipe.uncork());
    }
    return write(chunk);
  };
}

type Send = (...command: unknown[]) => Promise<unknown>;

/** Classes of sessions that are already patched. */
const withoutTraces = new WeakSet<object>();

/**
 * Disables the stack traces of Playwright's commands. Playwright creates an error for each command in advance, with a trace of its internal
 * calls that is not used. The errors keep their messages, which name the command.
 */
function sendWithoutTraces(session: object): void {
  const sessions = Object.getPrototypeOf(session) as { send?: Send };
  const { send } = sessions;
  if (send === undefined || withoutTraces.has(sessions)) return;
  withoutTraces.add(sessions);
  sessions.send = function (...command) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      // Playwright creates the error synchronously.
      return send.apply(this, command);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  };
}

/** Counts messages by the zeros that terminate them. */
function countEnds(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(0); at !== -1; at = chunk.indexOf(0, at + 1)) count += 1;
  return count;
}
