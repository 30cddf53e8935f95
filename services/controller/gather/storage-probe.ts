import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { DeadlineError, withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { newFileName } from '@webcapture/shared/storage/file-name.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import type { StorageFacts } from './facts.ts';

/** What a probe left behind, because it was interrupted, goes by itself after this. */
const leftoverMs = 5 * 60_000;

type Step = 'write' | 'read' | 'remove';

/** Tries the file store out: writes a tiny file, reads it back, removes it. */
export class StorageProbe {
  readonly #store: FileStore;
  readonly #limitMs: number;
  #facts: StorageFacts | null = null;
  #running: Promise<void> | null = null;
  #step: Step = 'write';

  constructor(store: FileStore, limitMs = 5000) {
    this.#store = store;
    this.#limitMs = limitMs;
  }

  /** What the last probe showed; null before the first has ended. */
  get facts(): StorageFacts | null {
    return this.#facts;
  }

  /** Probes once. Never throws: a store that fails is what it is there to find. */
  async run(): Promise<void> {
    const started = performance.now();
    // One that is late is not joined by another: a store that hangs would gather them.
    this.#running ??= this.#tryOut().finally(() => (this.#running = null));
    try {
      await withDeadline(this.#running, this.#limitMs, 'the storage probe');
      this.#facts = { kind: 'works', at: Date.now(), ms: performance.now() - started };
    } catch (error) {
      const failures = this.#facts?.kind === 'fails' ? this.#facts.failures + 1 : 1;
      const late = error instanceof DeadlineError;
      this.#facts = { kind: 'fails', at: Date.now(), step: this.#step, late, failures };
    }
  }

  async #tryOut(): Promise<void> {
    const bytes = randomBytes(64);
    const name = newFileName(randomUUIDv7(), 'png');
    this.#step = 'write';
    await this.#store.create({
      name,
      bytes,
      contentType: 'image/png',
      expiresAt: Date.now() + leftoverMs,
      width: 1,
      height: 1,
    });
    this.#step = 'read';
    const file = await this.#store.stat(name);
    if (file === null) throw new Error('the file that was just written is not there');
    const parts: Uint8Array[] = [];
    for await (const part of this.#store.read(file)) parts.push(part);
    if (!Buffer.concat(parts).equals(bytes)) throw new Error('the file came back with other bytes');
    this.#step = 'remove';
    await this.#store.remove(name);
  }
}
