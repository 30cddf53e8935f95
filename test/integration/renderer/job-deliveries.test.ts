import { afterEach, describe, expect, test, vi } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { jobAckWaitMs } from '@webcapture/shared/nats/streams.ts';
import { jobOf } from '@webcapture/shared/queue/job.ts';
import type { JobOutcome } from '@webcapture/shared/queue/results.ts';
import { type NewFile, StoreUnavailableError, type Upload } from '@webcapture/shared/files/file-store.ts';
import { BrowserLostError } from '../../../services/renderer/browser/page.ts';
import type { RenderEngine } from '../../../services/renderer/page/engine.ts';
import type { RenderRequest } from '../../../services/renderer/page/render.ts';
import { runJob, type JobDeps } from '../../../services/renderer/worker/run-job.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { newRecord } from '../../harness/records.ts';
import { delivered } from './support/delivered.ts';
import { picture } from './support/renderer.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** Events during a job in a renderer. */
interface Fate {
  readonly changes?: Partial<CaptureRecord>;
  readonly render?: RenderEngine['render'];
  /** The renderer stops during the rendering. */
  readonly stops?: boolean;
  /** Thrown instead of storing the file. */
  readonly storing?: unknown;
  /** Set if NATS does not answer. */
  readonly isCutOff?: true;
  /** Thrown instead of reading the HTML. */
  readonly reading?: unknown;
  /** Delivered instead of the job. */
  readonly data?: Buffer;
}

/** All visible effects of a job, in order. */
async function deliver(
  delivery: number,
  { changes = {}, render, stops = false, storing, isCutOff, reading, data }: Fate = {},
) {
  const seen: string[] = [];
  const outcomes: JobOutcome[] = [];
  const rendered: RenderRequest[] = [];
  const stop = new AbortController();
  const engine = {
    render: async (request: RenderRequest) => {
      rendered.push(request);
      if (stops) {
        stop.abort(new Error('the renderer is stopping'));
        throw stop.signal.reason;
      }
      return render === undefined ? picture() : render(request);
    },
  };
  const stored = async ({ object, contentType, bytes, width, height, expiresAt }: NewFile): Promise<Upload> => {
    if (storing !== undefined) throw storing;
    seen.push('stored');
    return { object, contentType, size: bytes.length, etag: 'tag', width, height, expiresAt };
  };
  const deps = {
    engine,
    uploader: {
      upload: (file: NewFile) => {
        const upload = stored(file);
        upload.catch(() => undefined);
        return { sent: upload, stored: upload };
      },
    },
    results: {
      reply: () => undefined,
      publish: async (_: unknown, outcome: JobOutcome) => {
        outcomes.push(outcome);
        const detail =
          outcome.kind === 'failed' ? ` ${outcome.code}` : outcome.kind === 'returned' ? ` ${outcome.reason}` : '';
        seen.push(outcome.kind + detail);
      },
    },
    readHtml: async () => {
      if (reading !== undefined) throw reading;
      return '';
    },
    reachesNats: async () => isCutOff === undefined,
    clock: { now: () => Date.now(), isKnown: true },
    onEnd: () => undefined,
    onReturn: () => undefined,
    log: silentLog,
  } as unknown as JobDeps;
  const message = delivered({ ...jobOf(newRecord(changes)), ticket: 'a.b' }, delivery, {
    ...(data === undefined ? {} : { data }),
    ack: async () => void seen.push('acknowledged'),
    nak: (delayMs) => void seen.push(delayMs < 1000 ? 'handed back at once' : 'handed back later'),
    terminate: () => void seen.push('terminated'),
  });
  await runJob(message, stop.signal, deps).done;
  return {
    seen,
    outcomes,
    ownBrowser: rendered.map((request) => request.ownBrowser),
    reuseFor: rendered.map((request) => request.reuseFor),
  };
}

const browserLost = new ServiceError('CAPTURE_FAILED', 'The browser went away.', {
  causedBy: 'service',
  cause: new BrowserLostError(),
});
const fails = (error: unknown) => ({ render: () => Promise.reject(error) });
const at = (startsInMs: number, endsInMs: number) => {
  const now = Date.now();
  return { changes: { acceptedAt: now - 60_000, startBy: now + startsInMs, deadline: now + endsInMs } };
};

const day = 86_400_000;
const background = (startsInMs = day) =>
  ({ priority: 'background', ...at(startsInMs, startsInMs + 93_000).changes }) as const;

const completed = 'stored, completed, acknowledged';
const notStored = 'failed STORAGE_FAILED, acknowledged';
const timedOut = 'failed CAPTURE_TIMEOUT, acknowledged';

/** The effects of a job at its first, second and third delivery, and whether it gets its own browser; null if it gets no browser. */
const table: readonly [
  fate: string,
  make: () => Fate,
  seen: readonly [string, string, string],
  ownBrowser: readonly [boolean | null, boolean | null, boolean | null],
][] = [
  ['completes', () => ({}), [completed, completed, completed], [false, true, true]],
  [
    'completes, of an account that shares no browser',
    () => ({ changes: { isolation: 'browser' } }),
    [completed, completed, completed],
    [true, true, true],
  ],
  [
    'loses its browser',
    () => fails(browserLost),
    ['handed back at once', 'handed back at once', 'failed CAPTURE_FAILED, acknowledged'],
    [false, true, true],
  ],
  [
    'crashes its own page',
    () => fails(new ServiceError('CAPTURE_FAILED', 'The page crashed.', { causedBy: 'page' })),
    Array(3).fill('failed CAPTURE_FAILED, acknowledged') as [string, string, string],
    [false, true, true],
  ],
  [
    'cannot be reached',
    () => fails(new ServiceError('NAVIGATION_FAILED', 'There is no such host.')),
    Array(3).fill('failed NAVIGATION_FAILED, acknowledged') as [string, string, string],
    [false, true, true],
  ],
  [
    'cannot be reached, in the background',
    () => ({ changes: background(), ...fails(new ServiceError('NAVIGATION_FAILED', 'There is no such host.')) }),
    Array(3).fill('failed NAVIGATION_FAILED, acknowledged') as [string, string, string],
    [false, true, true],
  ],
  [
    'cannot be reached, in the background, by a renderer that is cut off',
    () => ({ changes: background(), isCutOff: true, ...fails(new ServiceError('NAVIGATION_FAILED')) }),
    Array(3).fill('returned cut_off, acknowledged') as [string, string, string],
    [false, true, true],
  ],
  [
    'cannot be reached by a renderer that is cut off, while a client waits for it',
    () => ({ isCutOff: true, ...fails(new ServiceError('NAVIGATION_FAILED')) }),
    Array(3).fill('failed NAVIGATION_FAILED, acknowledged') as [string, string, string],
    [false, true, true],
  ],
  [
    'crashes its own page, in the background, in a renderer that is cut off',
    () => ({
      changes: background(),
      isCutOff: true,
      ...fails(new ServiceError('CAPTURE_FAILED', 'The page crashed.', { causedBy: 'page' })),
    }),
    Array(3).fill('failed CAPTURE_FAILED, acknowledged') as [string, string, string],
    [false, true, true],
  ],
  ['has a second left to begin', () => at(1000, 93_000), [completed, completed, completed], [false, true, true]],
  [
    // The renderer of the previous delivery began in time.
    'should have begun a second ago',
    () => at(-1000, 93_000),
    [timedOut, completed, completed],
    [null, true, true],
  ],
  ['should have ended a second ago', () => at(-94_000, -1000), [timedOut, timedOut, timedOut], [null, null, null]],
  [
    'is under way when the renderer stops',
    () => ({ stops: true }),
    Array(3).fill('returned shutting_down, acknowledged') as [string, string, string],
    [false, true, true],
  ],
  [
    // The outcome is the same at every delivery, because the page is not the cause.
    'cannot be stored now, in the background',
    () => ({ changes: background(), storing: new StoreUnavailableError() }),
    Array(3).fill('returned store_unavailable, acknowledged') as [string, string, string],
    [false, true, true],
  ],
  [
    'has html that cannot be read now, in the background',
    () => ({ changes: { ...background(), html: 'stored' }, reading: new StoreUnavailableError() }),
    Array(3).fill('returned store_unavailable, acknowledged') as [string, string, string],
    [null, null, null],
  ],
  [
    'cannot be stored now, while a client waits for it',
    () => ({ storing: new StoreUnavailableError() }),
    [notStored, notStored, notStored],
    [false, true, true],
  ],
  [
    'cannot be stored now, in the background, at the end of its 24 hours',
    () => ({ changes: background(290_000), storing: new StoreUnavailableError() }),
    [notStored, notStored, notStored],
    [false, true, true],
  ],
  [
    'the store refuses, in the background',
    () => ({ changes: background(), storing: new ServiceError('STORAGE_FAILED') }),
    [notStored, notStored, notStored],
    [false, true, true],
  ],
  [
    'is of a version that is not known',
    () => ({
      data: Buffer.from(
        JSON.stringify({ version: 99, uuid: newRecord().uuid, revision: 0, region: 'us-east', ticket: 'a.b' }),
      ),
    }),
    Array(3).fill('returned unknown_version, acknowledged') as [string, string, string],
    [null, null, null],
  ],
  [
    'is no job',
    () => ({ data: Buffer.from('no json') }),
    ['terminated', 'terminated', 'terminated'],
    [null, null, null],
  ],
];

describe.each(table)('a job that %s', (_, make, seen, ownBrowser) => {
  test.each([1, 2, 3])('has the expected effects at delivery %i', async (delivery) => {
    const found = await deliver(delivery, make());
    expect(found.seen.join(', ')).toBe(seen[delivery - 1]);
    expect(found.ownBrowser[0] ?? null).toBe(ownBrowser[delivery - 1]);
    expect(found.ownBrowser.length).toBeLessThanOrEqual(1);
  });
});

test('a running job extends its ack wait of 30 s at least twice every 10 s, and no longer when the job has ended', async () => {
  expect(jobAckWaitMs).toBe(30_000);
  const rendering = Promise.withResolvers<void>();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  let told = 0;
  const deps = {
    engine: { render: () => rendering.promise.then(() => Promise.reject(browserLost)) },
    results: { reply: () => undefined, publish: async () => undefined },
    clock: { now: () => Date.now(), isKnown: true },
    onEnd: () => undefined,
    onReturn: () => undefined,
    log: silentLog,
  } as unknown as JobDeps;
  const message = delivered({ ...jobOf(newRecord()), ticket: 'a.b' }, 1, { working: () => void told++ });
  const { done } = runJob(message, new AbortController().signal, deps);
  for (let count = 1; count <= 10; count++) {
    const before = told;
    await vi.advanceTimersByTimeAsync(10_000);
    // A second extension replaces a lost one in time.
    expect(told - before).toBeGreaterThanOrEqual(2);
  }
  rendering.resolve();
  await done;
  const atEnd = told;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told).toBe(atEnd);
});

test.each(['context', 'browser', 'account'] as const)(
  'a job with isolation %s reuses pages of its account only for "account": %s',
  async (isolation) => {
    const { reuseFor } = await deliver(1, { changes: { isolation, account: 'acc_1' } });
    expect(reuseFor).toEqual([isolation === 'account' ? 'acc_1' : undefined]);
  },
);
