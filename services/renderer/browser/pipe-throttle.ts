import { performance } from 'node:perf_hooks';
import process from 'node:process';
import type { Browser } from 'playwright';
import type { Readable } from 'node:stream';
import { messagesOf } from './driver.ts';

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
 */
export class PipeThrottle {
  /** Number of messages of all browsers. */
  static #all = 0;

  #messages = 0;
  #creditMs = burstMs;
  #last = { at: performance.now(), cpuMs: 0, messages: 0, allBefore: 0 };

  constructor(browser: Browser) {
    const pipe = messagesOf(browser);
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

/** Counts messages by the zeros that terminate them. */
function countEnds(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(0); at !== -1; at = chunk.indexOf(0, at + 1)) count += 1;
  return count;
}
