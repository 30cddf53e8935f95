import { statfs } from 'node:fs/promises';
import { delay } from '@webcapture/shared/runtime/deadline.ts';

const mebibyte = 1024 ** 2;

/** Available bytes below which a warning is printed: a batch of captures with large files needs some hundred MiB. */
const lowBytes = 1024 * mebibyte;

/** Available bytes that a restart needs: with less, the server would soon fail again. */
const enoughBytes = 64 * mebibyte;

/** Error lines of nats-server that name ENOSPC or EDQUOT. */
const noSpaceLine = /\[(?:ERR|FTL)\] .*(?:no space left on device|disk quota exceeded)/;

interface DiskWatchOptions {
  /** Folder on the file system that the server writes to. */
  readonly folder: string;
  /** Receives lines for the user. */
  readonly note: (line: string) => void;
  /** Restarts the server. After a failed write, it cannot write before a restart. */
  readonly restart: () => void;
}

/**
 * Watches the disk of one run of a nats-server. After an ENOSPC, nats-server (2.14 to 2.15) refuses every write to that stream
 * until it is restarted, even if the disk has space again.
 */
export class DiskWatch {
  readonly #options: DiskWatchOptions;
  #writeFailed = false;
  #isLow = false;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
  }

  /** Processes a line that the server printed. */
  readLine(line: string): void {
    this.#writeFailed ||= noSpaceLine.test(line);
  }

  /** Processes the number of available bytes. Warns if it is low. After a failed write, restarts the server when it is sufficient again. */
  check(availableBytes: number): void {
    const { folder, note, restart } = this.#options;
    if (availableBytes < lowBytes && !this.#isLow) {
      const left = `${Math.floor(availableBytes / mebibyte)} MiB`;
      note(`the disk of ${folder} has ${left} left: when it is full, nothing can be captured; free some space`);
    }
    this.#isLow = availableBytes < lowBytes;
    if (!this.#writeFailed || availableBytes < enoughBytes) return;
    this.#writeFailed = false;
    note('restarting nats, which could not write while the disk was full: there is space again');
    restart();
  }

  /** Checks once a second until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    do {
      const stats = await statfs(this.#options.folder).catch(() => undefined);
      if (stats !== undefined && !signal.aborted) this.check(stats.bavail * stats.bsize);
    } while (await delay(1000, signal));
  }
}
