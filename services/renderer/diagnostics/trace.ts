import { diagnosticsLimits as limits } from '@webcapture/shared/api/diagnostics-limits.ts';
import type { RenderDiagnostics } from '@webcapture/shared/api/diagnostics.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import type { StoredDiagnostics } from '@webcapture/shared/files/diagnostics-file.ts';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Page } from 'playwright';
import type { BlockingSession } from '../blocking/blocking-session.ts';
import type { PageSession } from '../browser/page.ts';
import type { ProxySession } from '../egress/proxy.ts';
import { readConsole } from './console.ts';
import { takeLastPicture } from './last-picture.ts';
import { readMoving } from './moving.ts';
import { redactorOf } from './redact.ts';
import { RequestLog } from './request-log.ts';

type StepName = 'setUp' | 'navigation' | 'script' | 'click' | 'waitFor' | 'settle' | 'extract' | 'picture';

/** The parts of an open page that diagnostics read. */
export interface TracedPage {
  readonly page: Page;
  readonly cdp: PageSession;
  readonly frameId: string;
  readonly proxySession: Pick<ProxySession, 'failureOf'>;
  readonly document: { readonly arrivals: number };
  readonly deadline: { readonly remainingMs: number };
}

/** Shorter waits explain nothing. */
const minWaitMs = 100;

const maxErrorLength = 2000;

/** A page that is not busy answers within milliseconds. */
const answerTimeoutMs = 500;
const readTimeoutMs = 1500;

/**
 * Collects what explains one rendering. While the page is rendered, it only notes times and requests, so that captures without
 * diagnostics wait for nothing. `describe` asks the page for the rest.
 */
export class RenderTrace {
  readonly #startedAt = Date.now();
  readonly #origin = performance.now();
  readonly #secrets: CaptureSecrets | undefined;
  readonly #steps: { readonly name: StepName; readonly startedAt: number }[] = [];
  readonly #waits: RenderDiagnostics['waits'] = [];
  #requests: RequestLog | undefined;
  /** Undefined if the capture blocks nothing. */
  blocking: BlockingSession | undefined;

  constructor(secrets: CaptureSecrets | undefined) {
    this.#secrets = secrets;
    this.begin('setUp');
  }

  /** Begins the next step, which ends the one before. */
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

  /** Notes the requests of a page from now on. The returned function ends that. */
  watch(page: Page): () => void {
    const requests = (this.#requests = new RequestLog(page));
    return () => requests.stop();
  }

  /**
   * Describes the rendering, in 2.5 s at most. What the page does not answer is left out.
   *
   * @param failure undefined for a capture that completes: it needs no last picture
   * @returns null if the description fails, which must not change how the capture ends
   */
  async describe(traced: TracedPage, failure?: ServiceError): Promise<StoredDiagnostics | null> {
    try {
      return await this.#describe(traced, failure);
    } catch {
      return null;
    }
  }

  async #describe(traced: TracedPage, failure: ServiceError | undefined): Promise<StoredDiagnostics> {
    const end = performance.now();
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

/** Ends the scripts of a page that is busy with them: then it can be read, and it draws its present state. */
async function stopIfBusy(cdp: PageSession): Promise<void> {
  const asking = cdp.send('Runtime.evaluate', { expression: '0', returnByValue: true, silent: true }).then(
    () => true,
    () => true,
  );
  if (await Promise.race([asking, delay(answerTimeoutMs).then(() => false)])) return;
  const stopping = Promise.all([
    cdp.send('Emulation.setScriptExecutionDisabled', { value: true }),
    cdp.send('Runtime.terminateExecution'),
    cdp.send('Page.stopLoading'),
  ]);
  await withDeadline(stopping, answerTimeoutMs, 'stopping the page').catch(() => undefined);
}

/** Diagnostics of renderings that failed, by the error that the rendering threw. */
const ofFailures = new WeakMap<object, StoredDiagnostics>();

/** Keeps diagnostics with the error that a rendering throws. */
export const attachDiagnostics = (failure: ServiceError, diagnostics: StoredDiagnostics): void =>
  void ofFailures.set(failure, diagnostics);

/** Returns the diagnostics of an error; undefined if it was not thrown by the rendering of a page. */
export const diagnosticsOf = (thrown: unknown): StoredDiagnostics | undefined =>
  typeof thrown === 'object' && thrown !== null ? ofFailures.get(thrown) : undefined;
