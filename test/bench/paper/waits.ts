import { CaptureDeadline } from '../../../services/renderer/page/deadline.ts';

/** Milliseconds of the waits of a capture, by what was waited for. */
export type Waits = ReadonlyMap<string, number>;

type Run = (this: CaptureDeadline, work: Promise<unknown>, timeoutMs: number, what: string) => Promise<unknown>;

let waits = new Map<string, number>();

/** Records all waits of captures in this process from now on. Diagnostics contain only those of 100 ms and more. */
export function recordWaits(): void {
  const run = Reflect.get(CaptureDeadline.prototype, 'run') as Run;
  const record: Run = async function (...call) {
    const [, , what] = call;
    const start = performance.now();
    try {
      return await run.apply(this, call);
    } finally {
      waits.set(what, (waits.get(what) ?? 0) + performance.now() - start);
    }
  };
  Reflect.set(CaptureDeadline.prototype, 'run', record);
}

/** Returns the waits since the last call. */
export function takeWaits(): Waits {
  const taken = waits;
  waits = new Map();
  return taken;
}
