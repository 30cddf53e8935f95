import { Presets, SingleBar } from 'cli-progress';
import { plainText, shortText } from '../text.ts';
import type { Terminal } from '../terminal.ts';
import type { BatchEvent, BatchProgress } from './runner.ts';

/** Shows the progress of a batch. */
export interface ProgressView {
  show(event: BatchEvent, progress: BatchProgress): void;
  stop(): void;
}

/** Returns a progress bar on a terminal; otherwise prints a line for each entry. */
export function createProgressView({ stderr }: Terminal, first: BatchProgress): ProgressView {
  return stderr.isTTY === true ? barView(stderr, first) : lineView(stderr);
}

function barView(stderr: Terminal['stderr'], first: BatchProgress): ProgressView {
  const bar = new SingleBar(
    {
      stream: stderr as NodeJS.WritableStream,
      format: '{bar} {value}/{total}  {failed} failed  {eta_formatted}  {note}',
      hideCursor: true,
      clearOnComplete: true,
      etaBuffer: 50,
      fps: 5,
      // The batch handles Ctrl-C itself.
      gracefulExit: false,
    },
    Presets.shades_classic,
  );
  bar.start(first.total, first.saved, { failed: 0, note: '' });
  let progress = first;
  const update = (note: string) => {
    const { saved, failed, pauseMs } = progress;
    const waits = pauseMs > 0 ? `rate limit, ${seconds(pauseMs)}` : note;
    bar.update(saved + failed, { failed, note: shortText(waits, 40) });
  };
  let lastNote = '';
  const timer = setInterval(() => update(lastNote), 500);
  return {
    show(event, now) {
      progress = now;
      if (event.type === 'retrying') lastNote = `retry in ${seconds(event.ms)}: ${event.message}`;
      else if (event.type !== 'paused') lastNote = event.entry.url;
      update(lastNote);
    },
    stop() {
      clearInterval(timer);
      bar.stop();
    },
  };
}

function lineView(stderr: Terminal['stderr']): ProgressView {
  return {
    show(event, { saved, failed, total }) {
      if (event.type === 'paused') {
        stderr.write(`waiting ${seconds(event.ms)} for the rate limit\n`);
        return;
      }
      const line = `[${saved + failed}/${total}] ${event.entry.url}: ${describe(event)}`;
      stderr.write(plainText(line).replaceAll('\n', ' ') + '\n');
    },
    stop: () => undefined,
  };
}

function describe(event: Exclude<BatchEvent, { type: 'paused' }>): string {
  switch (event.type) {
    case 'saved':
      return `saved ${event.file}`;
    case 'retrying':
      return `retrying in ${seconds(event.ms)}: ${event.message}`;
    case 'failed':
      return `failed: ${event.message}`;
  }
}

const seconds = (ms: number) => `${Math.ceil(ms / 1000)} s`;
