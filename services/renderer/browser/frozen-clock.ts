/// <reference lib="dom" />
import { callExpression } from './isolated-world.ts';

type Callback = (...args: unknown[]) => unknown;

interface TemporalInstant {
  toZonedDateTimeISO(zone: unknown): Record<string, Callback>;
}

/** The types of `Temporal`, which TypeScript's library does not have yet. */
interface TemporalClasses {
  readonly Now: Record<string, (zone?: unknown) => unknown>;
  readonly Instant: object;
}

/**
 * Stops the clock of a document at `time` (Unix milliseconds) and seeds its random numbers. Timers continue to run. In a callback of
 * `requestAnimationFrame`, the clock advances by a fixed step with each frame, so that animations by scripts show the same states on every
 * machine. After `maxFrames` such frames, a loop is not continued. The document begins with `performance.now()` at `startMs`. Code that
 * runs after the page's scripts uses no built-in object, because pages change those.
 */
function freezeClock(time: number, seed: number, question: string): void {
  'use strict';
  const startMs = 1000;
  const frameMs = 50;
  const maxFrames = 60;
  /** Number of reads of the clock between two frames from which the page probably waits for the clock to advance. */
  const maxReads = 1e6;
  /** Maximum delay of a timer that continues a loop. */
  const maxTimerMs = 250;
  const { apply, construct, defineProperty, setPrototypeOf } = Reflect;
  const page = globalThis as unknown as Record<string, Callback> & typeof globalThis;
  const NativeDate = Date;
  const { floor, imul } = Math;
  const microtask = queueMicrotask;
  // A page may add properties to `Object.prototype`. Without a null prototype, they would act as traps of the proxy.
  const proxyOf = <T extends object>(native: T, handler: ProxyHandler<T>): T => {
    setPrototypeOf(handler, null);
    return new Proxy(native, handler);
  };
  const define = (owner: object, name: string, value: unknown) =>
    defineProperty(owner, name, { ...Object.getOwnPropertyDescriptor(owner, name), value });
  const nativeOf = (owner: object, name: string, kind: 'value' | 'get' = 'value') =>
    Object.getOwnPropertyDescriptor(owner, name)?.[kind] as Callback;

  /** Number of frames from the start of the loop that runs now; 0 outside of loops. */
  let frame = 0;
  let reads = 0;
  const elapsed = () => {
    reads += 1;
    return frame * frameMs + (reads > maxReads ? reads - maxReads : 0);
  };
  const now = () => time + elapsed();

  const dateText = nativeOf(NativeDate.prototype, 'toString');
  const FrozenDate = proxyOf(NativeDate, {
    apply: () => apply(dateText, new NativeDate(now()), []) as string,
    construct: (native, args: unknown[], target) =>
      construct(native, args.length === 0 ? [now()] : args, target) as object,
  });
  define(page, 'Date', FrozenDate);
  define(NativeDate, 'now', { now }.now);
  define(NativeDate.prototype, 'constructor', FrozenDate);
  define(Performance.prototype, 'now', { now: () => startMs + elapsed() }.now);
  defineProperty(Performance.prototype, 'timeOrigin', {
    get: () => time - startMs,
    configurable: true,
    enumerable: true,
  });

  const { prototype: formats } = Intl.DateTimeFormat;
  const formatOf = nativeOf(formats, 'format', 'get');
  defineProperty(formats, 'format', {
    get(this: object) {
      const format = apply(formatOf, this, []) as Callback;
      return (date: unknown) => format(date === undefined ? now() : date);
    },
    configurable: true,
  });
  const partsOf = nativeOf(formats, 'formatToParts');
  define(formats, 'formatToParts', function formatToParts(this: object, date: unknown) {
    return apply(partsOf, this, [date === undefined ? now() : date]);
  });
  const { Temporal } = page as { readonly Temporal?: TemporalClasses };
  if (Temporal !== undefined) {
    const { Now, Instant } = Temporal;
    const zoneOf = Now['timeZoneId'] as () => unknown;
    const fromMs = nativeOf(Instant, 'fromEpochMilliseconds');
    const instant = () => apply(fromMs, Instant, [floor(now())]) as TemporalInstant;
    const zoned = (zone: unknown = zoneOf()) => instant().toZonedDateTimeISO(zone);
    define(Now, 'instant', instant);
    define(Now, 'zonedDateTimeISO', zoned);
    for (const name of ['PlainDate', 'PlainDateTime', 'PlainTime']) {
      const converted = `to${name}`;
      define(Now, `${name[0]?.toLowerCase()}${name.slice(1)}ISO`, (zone?: unknown) => zoned(zone)[converted]?.());
    }
  }

  // The generator is Mulberry32.
  let state = seed;
  define(
    Math,
    'random',
    {
      random: () => {
        state = (state + 0x6d_2b_79_f5) | 0;
        let mixed = imul(state ^ (state >>> 15), 1 | state);
        mixed = (mixed + imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
      },
    }.random,
  );

  /** Runs a callback, and the continuations of promises that it settles, as a part of a loop. */
  const runIn = (loop: number, run: Callback, self: unknown, args: unknown[]) => {
    const before = frame;
    frame = loop;
    reads = 0;
    try {
      return apply(run, self, args);
    } finally {
      microtask(() => {
        frame = before;
      });
    }
  };
  /** Callbacks that continue a loop and have not run yet, by kind and id. */
  const due = Object.create(null) as Record<string, true>;
  let dueCount = 0;
  const end = (kind: string, id: unknown) => {
    const key = typeof id === 'number' ? kind + id : '';
    if (due[key] === undefined) return;
    delete due[key];
    dueCount -= 1;
  };
  const replace = (name: string, call: NonNullable<ProxyHandler<Callback>['apply']>) => {
    const native = page[name];
    if (native !== undefined) define(page, name, proxyOf(native, { apply: call }));
  };
  /** Schedules a callback as a part of a loop. */
  const schedule = (request: Callback, self: unknown, args: unknown[], kind: string, loop: number, at?: number) => {
    const run = args[0] as Callback;
    let id = 0;
    args[0] = function (this: unknown, ...given: unknown[]) {
      end(kind, id);
      return runIn(loop, run, this, at === undefined ? given : [at]);
    };
    id = apply(request, self, args) as number;
    due[kind + id] = true;
    dueCount += 1;
    return id;
  };
  let heldId = -1;
  for (const name of ['requestAnimationFrame', 'webkitRequestAnimationFrame']) {
    replace(name, (request, self, args: unknown[]) => {
      if (typeof args[0] !== 'function') return apply(request, self, args);
      const next = frame + 1;
      return next > maxFrames ? heldId-- : schedule(request, self, args, 'frame', next, startMs + next * frameMs);
    });
  }
  // Timers can belong to a loop, because many loops request the next frame from a timer.
  replace('setTimeout', (request, self, args: unknown[]) => {
    const isOfLoop = frame > 0 && typeof args[0] === 'function' && !((args[1] as number) > maxTimerMs);
    return isOfLoop ? schedule(request, self, args, 'timer', frame) : apply(request, self, args);
  });
  for (const [kind, ...names] of [
    ['frame', 'cancelAnimationFrame', 'webkitCancelAnimationFrame'],
    ['timer', 'clearTimeout', 'clearInterval'],
  ] as const) {
    for (const name of names) {
      replace(name, (cancel, self, args: unknown[]) => {
        end(kind, args[0]);
        return apply(cancel, self, args);
      });
    }
  }
  const preventDefault = nativeOf(Event.prototype, 'preventDefault');
  document.addEventListener(question, (event) => {
    if (dueCount > 0) apply(preventDefault, event, []);
  });
}

/** Type of the event with which the renderer asks a document whether loops of frames are running. Running loops cancel the event. */
export const loopsQuestion = 'webcapture-loops';

/** Returns the source of a script that freezes a document before its own scripts run. @param time Unix milliseconds */
export const frozenClockScript = (time: number, seed: number): string =>
  callExpression(freezeClock, [time, seed, loopsQuestion]);
