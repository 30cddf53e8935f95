import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { DeadlineError, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { StorageFacts } from './facts.ts';

/**
 * Lifetime of files that an interrupted probe leaves behind. The embedded store removes them after it; in a bucket, the lifecycle rule
 * removes them a day later.
 */
const leftoverMs = 5 * 60_000;

/** Number of consecutive failures of which one is logged. */
const failuresPerLogLine = 30;

const probe = 'the storage probe';

type Step = 'write' | 'read' | 'remove';

/** Tests the file store: writes a tiny file, reads it back, and removes it. */
export class StorageProbe {
  readonly #store: FileStore;
  readonly #log: Logger;
  readonly #timeoutMs: number;
  readonly #now: () => number;
  #facts: StorageFacts | null = null;
  #running: { readonly started: number; readonly done: Promise<void> } | null = null;
  #step: Step = 'write';

  constructor(
    store: FileStore,
    { log, timeoutMs = 5000, now = Date.now }: { log: Logger; timeoutMs?: number; now?: () => number },
  ) {
    this.#store = store;
    this.#log = log;
    this.#timeoutMs = timeoutMs;
    this.#now = now;
  }

  /** Result of the last probe; null before the first ends. */
  get facts(): StorageFacts | null {
    return this.#facts;
  }

  /** Probes once. Never throws: a failing store is a result. */
  async run(): Promise<void> {
    // While a probe is late, no second one starts, because probes would pile up on a stuck store.
    this.#running ??= {
      started: performance.now(),
      done: this.#tryOut().finally(() => (this.#running = null)),
    };
    const { started, done } = this.#running;
    try {
      await withDeadline(done, this.#timeoutMs, probe);
      // A probe that ends late is not a recovery, even if it succeeds.
      if (performance.now() - started > this.#timeoutMs) throw new DeadlineError(probe, this.#timeoutMs);
      if (this.#facts?.kind === 'fails') this.#log.info('file store probe succeeded again');
      this.#facts = { kind: 'works', at: this.#now(), ms: performance.now() - started };
    } catch (error) {
      const failures = this.#facts?.kind === 'fails' ? this.#facts.failures + 1 : 1;
      const late = error instanceof DeadlineError;
      // The first failures are logged, and then only some, because the probe runs often.
      if (failures <= 2 || failures % failuresPerLogLine === 0) {
        this.#log.warn({ err: error, step: this.#step, failures }, 'file store probe failed');
      }
      this.#facts = { kind: 'fails', at: this.#now(), step: this.#step, late, failures };
    }
  }

  async #tryOut(): Promise<void> {
    const name = newFileName(randomUUIDv7(), 'png');
    try {
      await this.#writeAndRead(name);
      this.#step = 'remove';
      await this.#store.remove(name);
    } catch (error) {
      // Remove the written file if possible, without waiting.
      void this.#store.remove(name, { deadline: this.#now() + this.#timeoutMs }).catch(() => undefined);
      throw error;
    }
  }

  async #writeAndRead(name: string): Promise<void> {
    const bytes = randomBytes(64);
    this.#step = 'write';
    await this.#store.create({
      object: name,
      // The region does not matter, because the probe belongs to this process and not to a renderer.
      region: 'us-east',
      account: 'probe',
      bytes,
      contentType: 'image/png',
      expiresAt: this.#now() + leftoverMs,
      // The deadline of the store precedes the timeout of the probe, so that the store can report its own error.
      deadline: this.#now() + 0.8 * this.#timeoutMs,
      width: 1,
      height: 1,
    });
    this.#step = 'read';
    const file = await this.#store.stat(name);
    if (file === null) throw new Error('the test file is missing right after it was written');
    const found = await buffer(this.#store.read(file));
    if (!found.equals(bytes)) throw new Error('the test file was read back with different content');
  }
}
