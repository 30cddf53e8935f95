import { performance } from 'node:perf_hooks';
import process from 'node:process';
import type { Browser } from 'playwright';
import type { Readable, Writable } from 'node:stream';

/** What this uses of Playwright's own objects, which are not part of its public interface. */
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

/** Of this process's time, in milliseconds: what the messages of one browser may take at once, and of each later one. */
const burstMs = 500;
const share = 0.25;

/** Pauses shorter than this cost more than they give; longer ones would seem a browser that hangs. */
const pauseMs = { min: 10, max: 1000 } as const;

/**
 * Counts the messages that a browser sends to this process, where all captures are worked at, and takes no more of them than
 * it may spend time on: the rest waits in the browser of the page that floods it.
 *
 * @throws Error when this version of Playwright has no known pipe, because nothing would limit the messages of a page
 */
export class MessageFlow {
  /** Messages of all browsers. */
  static #all = 0;

  #messages = 0;
  #creditMs = burstMs;
  #last = { at: performance.now(), cpuMs: 0, messages: 0, allBefore: 0 };

  constructor(browser: Browser) {
    const impl = (browser as unknown as Internals)._connection?.toImpl?.(browser);
    const { rootSession, _transport: transport } = impl?._connection ?? {};
    const pipe = transport?._pipeRead;
    if (pipe === undefined)
      throw new Error('This version of Playwright has no known pipe to its browser: install the one of package.json.');
    if (rootSession !== undefined) sendWithoutTraces(rootSession);
    if (transport?._pipeWrite) gatherWrites(transport._pipeWrite);
    pipe.on('data', (chunk: Buffer) => this.#take(pipe, chunk));
  }

  /** All messages so far. */
  get messages(): number {
    return this.#messages;
  }

  #take(pipe: Readable, chunk: Buffer): void {
    const [last, at] = [this.#last, performance.now()];
    const { user, system } = process.threadCpuUsage();
    const cpuMs = (user + system) / 1000;
    // What was spent since the last messages of this browser was so on those, and on others that came meanwhile. Processor
    // time: on a busy machine, this process waits for a processor without being kept busy.
    const all = MessageFlow.#all - last.allBefore;
    const spentMs = all === 0 ? 0 : ((cpuMs - last.cpuMs) * last.messages) / all;
    this.#creditMs = Math.min(burstMs, this.#creditMs + (at - last.at) * share) - spentMs;
    const messages = countEnds(chunk);
    this.#last = { at, cpuMs, messages, allBefore: MessageFlow.#all };
    this.#messages += messages;
    MessageFlow.#all += messages;
    const dueMs = -this.#creditMs / share;
    if (dueMs < pauseMs.min || pipe.isPaused()) return;
    pipe.pause();
    setTimeout(() => pipe.resume(), Math.min(dueMs, pauseMs.max));
  }
}

/**
 * Has all that is written in one turn of the event loop leave at once. Playwright writes each message and the zero that ends it by
 * themselves, and a page is opened with a dozen messages.
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

/** The class of sessions, once it is done for all of them. */
const withoutTraces = new WeakSet<object>();

/**
 * Playwright makes an error for each command that it sends, in case it fails, with a trace of its own steps, which nobody reads. The errors
 * stay, and their messages, which name the command.
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
      // The error is made before anything is waited for.
      return send.apply(this, command);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  };
}

/** A zero ends each message. */
function countEnds(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(0); at !== -1; at = chunk.indexOf(0, at + 1)) count += 1;
  return count;
}
