import { diagnosticsLimits as limits } from '@webcapture/shared/api/diagnostics-limits.ts';
import type { RenderDiagnostics } from '@webcapture/shared/api/diagnostics.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import type { StoredDiagnostics } from '@webcapture/shared/files/diagnostics-file.ts';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { BlockingSession } from '../blocking/blocking-session.ts';
import type { OpenPage } from '../page/open.ts';
import { readConsole } from './console.ts';
import { takeLastPicture } from './last-picture.ts';
import { readMoving } from './moving.ts';
import { type Redactor, redactorOf } from './redact.ts';
import { RequestLog } from './request-log.ts';

type StepName = 'setUp' | 'navigation' | 'script' | 'click' | 'waitFor' | 'settle' | 'extract' | 'picture';

/** Shorter waits tell nothing. */
const minWaitMs = 100;

/** A page that answers takes milliseconds for all of it. */
const answerTimeoutMs = 500;
const readTimeoutMs = 1500;

/**
 * Follows one rendering for its diagnostics. Until somebody wants them, it notes times and references only: a capture that does not ask for
 * diagnostics, and does not fail, does not wait for any of it.
 */
export class RenderTrace {
  readonly #startedAt = Date.now();
  readonly #origin = performance.now();
  readonly #redactor: Redactor;
  readonly #steps: { readonly name: StepName; readonly startedAt: number }[] = [];
  readonly #waits: RenderDiagnostics['waits'] = [];
  #requests: RequestLog | undefined;
  /** Where something is blocked. */
  blocking: BlockingSession | undefined;

  constructor(secrets: CaptureSecrets | undefined) {
    this.#redactor = redactorOf(secrets);
    this.begin('setUp');
  }

  /** The next step begins, and with that the one before ends. */
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

  /** Notes the requests of a page from now on. */
  watch({ page, onRelease }: Pick<OpenPage, 'page' | 'onRelease'>): void {
    const requests = (this.#requests = new RequestLog(page));
    onRelease(() => requests.stop());
  }

  /**
   * Puts together what is known of the rendering, in 2.5 s at most. Never rejects: what the page does not tell is left out.
   *
   * @param failure undefined for a capture that completes, which needs no last picture
   */
  async describe(open: OpenPage, failure?: ServiceError): Promise<StoredDiagnostics> {
    const end = performance.now();
    const { page, proxySession } = open;
    const redactor = this.#redactor;
    const url = page.url();
    const hasPage = !url.startsWith('chrome-error:') && open.document.arrivals > 0;
    const isThere = hasPage && !page.isClosed() && open.deadline.remainingMs > readTimeoutMs;
    if (isThere && failure !== undefined) await stopIfBusy(open);
    const read = <T>(work: () => Promise<T>) =>
      isThere ? withDeadline(work(), readTimeoutMs, 'diagnostics').catch(() => null) : Promise.resolve(null);
    const [console, moving, picture, requests] = await Promise.all([
      read(() => readConsole(page, this.#startedAt, redactor, readTimeoutMs)),
      read(() => readMoving(open, redactor)),
      failure === undefined ? null : read(() => takeLastPicture(open)),
      this.#requests?.describe(this.#origin, redactor, proxySession),
    ]);
    const { blocked = [], ...rest } = requests ?? { requests: [], requestCount: 0 };
    const diagnostics: RenderDiagnostics = {
      startedAt: new Date(this.#startedAt).toISOString(),
      durationMs: Math.round(end - this.#origin),
      error: failure === undefined ? null : { code: failure.code, message: redactor.text(failure.message, 2000) },
      pageUrl: redactor.url(url),
      steps: this.#describeSteps(end, failure !== undefined),
      waits: [...this.#waits],
      console: console ?? [],
      ...rest,
      blocked: [...(this.blocking?.describeBlocked(redactor.url) ?? []), ...blocked].slice(0, limits.blocked),
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

/** Ends the scripts of a page that is busy with them: then it can be read, and draws what it has come to. */
async function stopIfBusy({ cdp }: OpenPage): Promise<void> {
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

/** The diagnostics of a rendering that failed, by the error that it ended with. */
const ofFailures = new WeakMap<object, StoredDiagnostics>();

/** Keeps diagnostics with the error that a rendering ends with. */
export const attachDiagnostics = (failure: ServiceError, diagnostics: StoredDiagnostics): void =>
  void ofFailures.set(failure, diagnostics);

/** The diagnostics of what was thrown. Undefined: it was not the page that failed. */
export const diagnosticsOf = (thrown: unknown): StoredDiagnostics | undefined =>
  typeof thrown === 'object' && thrown !== null ? ofFailures.get(thrown) : undefined;
