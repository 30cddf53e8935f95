import { diagnosticsLimits as limits } from '@webcapture/shared/api/diagnostics-limits.ts';
import type { RenderDiagnostics } from '@webcapture/shared/api/diagnostics.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import { type StoredDiagnostics, maxLastPictureBytes } from '@webcapture/shared/files/diagnostics-file.ts';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { isRecording, recordSpan } from '@webcapture/shared/tracing/spans.ts';
import type { Page } from 'playwright';
import sharp from 'sharp';
import type { BlockingSession } from '../blocking/blocking-session.ts';
import type { PageSession } from '../browser/driver.ts';
import { fileOf } from '../browser/file-responses.ts';
import { stopActivity } from '../browser/page.ts';
import type { ProxySession } from '../egress/proxy.ts';
import { readConsole } from './console.ts';
import { readMoving } from './moving.ts';
import { redactorOf } from './redact.ts';
import { RequestLog } from './request-log.ts';

type StepName = 'setUp' | 'navigation' | 'script' | 'click' | 'steps' | 'waitFor' | 'settle' | 'extract' | 'picture';

/** Names of the steps in traces, as in `report.timings`. */
const spanNames: Readonly<Record<StepName, string>> = {
  setUp: 'open',
  navigation: 'navigate',
  script: 'script',
  click: 'click',
  steps: 'steps',
  waitFor: 'wait',
  settle: 'settle',
  extract: 'extract',
  picture: 'shoot',
};

/** The parts of an open page that diagnostics read. */
export interface TracedPage {
  readonly page: Page;
  readonly cdp: PageSession;
  readonly frameId: string;
  readonly proxySession: Pick<ProxySession, 'failureOf'>;
  readonly document: { readonly arrivals: number };
  readonly deadline: { readonly remainingMs: number };
}

/** Minimum duration of a wait that is recorded. */
const minWaitMs = 100;

const maxErrorLength = 2000;

/** Timeout for the answer of a page. A page that is not busy answers within milliseconds. */
const answerTimeoutMs = 500;
const readTimeoutMs = 1500;

/**
 * Collects the diagnostics of one rendering. During the rendering, it only records times and requests, so that captures without
 * diagnostics are not delayed. `describe` reads the rest from the page.
 */
export class RenderTrace {
  readonly #startedAt = Date.now();
  readonly #origin = performance.now();
  readonly #secrets: CaptureSecrets | undefined;
  readonly #steps: { readonly name: StepName; readonly startedAt: number }[] = [];
  readonly #waits: RenderDiagnostics['waits'] = [];
  #requests: RequestLog | undefined;
  /** Time at which the diagnostics were read; reading them is not a step. */
  #endedAt: number | undefined;
  /** Undefined if the capture blocks nothing. */
  blocking: BlockingSession | undefined;

  constructor(secrets: CaptureSecrets | undefined) {
    this.#secrets = secrets;
    this.begin('setUp');
  }

  /** Begins the next step and ends the previous one. */
  begin(name: StepName): void {
    this.#steps.push({ name, startedAt: performance.now() });
  }

  /** Notes a wait that has ended. @param startedAt by `performance.now()` */
  readonly noteWait = (what: string, startedAt: number, timedOut: boolean): void => {
    const durationMs = Math.round(performance.now() - startedAt);
    if (durationMs < minWaitMs && !timedOut) return;
    if (this.#waits.length === limits.waits) this.#waits.shift();
    const startMs = Math.round(startedAt - this.#origin);
    this.#waits.push({ what: what.slice(0, limits.name), startMs, durationMs, timedOut });
  };

  /** Records a span for each step. @param failure the failure of the last step; undefined for a completed rendering */
  recordSpans(failure: ServiceError | undefined): void {
    if (!isRecording()) return;
    const end = this.#endedAt ?? performance.now();
    for (const [index, { name, startedAt: startTime }] of this.#steps.entries()) {
      const next = this.#steps[index + 1];
      const errorCode = next === undefined ? failure?.code : undefined;
      recordSpan(spanNames[name], { startTime, endTime: next?.startedAt ?? end, errorCode });
    }
  }

  /** Records the requests of a page until the returned function is called. */
  watch(page: Page): () => void {
    const requests = (this.#requests = new RequestLog(page));
    return () => requests.stop();
  }

  /**
   * Describes the rendering, in at most 2.5 s. Omits data that the page does not return in time.
   *
   * @param failure undefined for a completed capture, for which no last picture is taken
   * @returns null if the description fails; the capture is not affected by that
   */
  async describe(traced: TracedPage, failure?: ServiceError): Promise<StoredDiagnostics | null> {
    try {
      return await this.#describe(traced, failure);
    } catch {
      return null;
    }
  }

  async #describe(traced: TracedPage, failure: ServiceError | undefined): Promise<StoredDiagnostics> {
    const end = (this.#endedAt = performance.now());
    const { page, cdp, document, deadline, proxySession } = traced;
    const redactor = redactorOf(this.#secrets);
    const url = page.url();
    const hasDocument = document.arrivals > 0 && !url.startsWith('chrome-error:');
    const isReadable = hasDocument && !page.isClosed() && deadline.remainingMs > readTimeoutMs;
    if (isReadable && failure !== undefined) await stopIfBusy(cdp);
    const read = async <T>(work: () => Promise<T>) =>
      isReadable ? withDeadline(work(), readTimeoutMs, 'diagnostics').catch(() => null) : null;
    const [console, moving, picture, requests] = await Promise.all([
      read(() => readConsole(page, this.#startedAt, redactor, readTimeoutMs)),
      read(() => readMoving(traced, redactor)),
      failure === undefined ? null : read(() => takeLastPicture(cdp)),
      this.#requests?.describe({ origin: this.#origin, redactor, failures: proxySession }),
    ]);
    const { blocked: refused = [], ...listed } = requests ?? { requests: [], requestCount: 0 };
    const blocked = this.blocking?.describeBlocked(redactor.url) ?? [];
    const diagnostics: RenderDiagnostics = {
      startedAt: new Date(this.#startedAt).toISOString(),
      durationMs: Math.round(end - this.#origin),
      error:
        failure === undefined ? null : { code: failure.code, message: redactor.text(failure.message, maxErrorLength) },
      pageUrl: redactor.url(url),
      steps: this.#describeSteps(end, failure !== undefined),
      waits: [...this.#waits],
      console: console ?? [],
      ...listed,
      blocked: [...blocked, ...refused].slice(0, limits.blocked),
      moving,
      picture: picture && { width: picture.width, height: picture.height, bytes: picture.jpeg.length },
    };
    return { diagnostics, ...(picture ? { picture: picture.jpeg.toString('base64') } : {}) };
  }

  #describeSteps(end: number, hasFailed: boolean): RenderDiagnostics['steps'] {
    return this.#steps.slice(-limits.steps).map(({ name, startedAt }, index, steps) => {
      const next = steps[index + 1]?.startedAt;
      return {
        name,
        startMs: Math.round(startedAt - this.#origin),
        durationMs: Math.round((next ?? end) - startedAt),
        failed: hasFailed && next === undefined,
      };
    });
  }
}

/** Stops the scripts of a busy page, so that its current state can be read and drawn. */
async function stopIfBusy(cdp: PageSession): Promise<void> {
  const asking = cdp.send('Runtime.evaluate', { expression: '0', returnByValue: true, silent: true }).then(
    () => true,
    () => true,
  );
  if (await Promise.race([asking, delay(answerTimeoutMs).then(() => false)])) return;
  await withDeadline(stopActivity(cdp), answerTimeoutMs, 'stopping the page').catch(() => undefined);
}

/** Diagnostics of failed renderings, by the error that was thrown. */
const ofFailures = new WeakMap<object, StoredDiagnostics>();

/** Stores diagnostics for the error that a rendering throws. */
export const attachDiagnostics = (failure: ServiceError, diagnostics: StoredDiagnostics): void =>
  void ofFailures.set(failure, diagnostics);

/** Returns the diagnostics of an error; undefined if it was not thrown by the rendering of a page. */
export const diagnosticsOf = (thrown: unknown): StoredDiagnostics | undefined =>
  typeof thrown === 'object' && thrown !== null ? ofFailures.get(thrown) : undefined;

/** Maximum side in pixels and quality of each attempt. The attempts end when the file is small enough. */
const attempts = [
  { side: 1280, quality: 60 },
  { side: 800, quality: 40 },
] as const;

export interface LastPicture {
  readonly jpeg: Buffer;
  readonly width: number;
  readonly height: number;
}

/** Takes a small JPEG picture of the page's current state; null if it cannot be made small enough. */
export async function takeLastPicture(cdp: PageSession): Promise<LastPicture | null> {
  const response = await cdp.send('Page.captureScreenshot', { format: 'jpeg', quality: 80 });
  const shot = sharp(fileOf(response), { limitInputPixels: false });
  for (const { side, quality } of attempts) {
    const resized = shot.clone().resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true });
    const { data: jpeg, info } = await resized.jpeg({ quality }).toBuffer({ resolveWithObject: true });
    if (jpeg.length <= maxLastPictureBytes) return { jpeg, width: info.width, height: info.height };
  }
  return null;
}
