import type { SoftTimeout } from '@webcapture/shared/api/capture.ts';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { maxStepsMs, type Step, timeoutOfStep } from '@webcapture/shared/api/steps.ts';
import { DeadlineError, delay } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { DocumentGoneError } from '../browser/isolated-world.ts';
import { clickAt, moveTo, pointAt, untilVisible } from './click.ts';
import { callTimeoutMs } from './deadline.ts';
import { followMove, hasMoved } from './follow-move.ts';
import { explainMiss, refusedSelector } from './miss.ts';
import { navigate, type RenderSource, throwIfLost } from './navigate.ts';
import type { OpenPage } from './open.ts';
import { boxing } from './scripts/boxes.ts';
import {
  chooseOption,
  entering,
  enterText,
  focusElement,
  scrollElement,
  type UseObstacle,
} from './scripts/entering.ts';
import { selecting } from './scripts/selecting.ts';
import { StepSites } from './sites.ts';
import { find, inAnyDocument, missedInSilence } from './wait-for.ts';

interface StepsRequest {
  readonly source: RenderSource;
  readonly options: RenderOptions;
  readonly steps: readonly Step[];
  /** Removes the values of the steps from a message. */
  readonly redact: (text: string) => string;
  /** Called when a step, and any navigation that it started, has ended. */
  readonly afterEach?: (() => Promise<void>) | undefined;
}

/**
 * Runs the steps in order. If a step starts a navigation, waits for the new document. All navigations share one `timeout`.
 *
 * @returns the load states that pages of `goto` did not reach in time
 * @throws ServiceError that names the step which failed, with its number
 */
export async function runSteps(
  open: OpenPage,
  { source, options, steps, redact, afterEach }: StepsRequest,
): Promise<SoftTimeout[]> {
  const sites = new StepSites(open.page, source);
  const late: SoftTimeout[] = [];
  let navigationMs = options.timeout;
  let stepsMs = maxStepsMs;
  for (const [index, step] of steps.entries()) {
    const toNext = { ...options, timeout: navigationMs };
    let startedAt = performance.now();
    const elapsed = () => performance.now() - startedAt;
    try {
      if (step.goto === undefined) {
        await act(open, step, { sites, timeoutMs: Math.min(timeoutOfStep(step), Math.round(stepsMs)) });
        const isMoving = await hasMoved(open);
        stepsMs -= elapsed();
        startedAt = performance.now();
        if (isMoving) await followMove(open, toNext);
      } else {
        sites.assertAllowed(step.goto);
        late.push(...(await navigate(open, { kind: 'url', url: step.goto }, toNext)));
      }
      navigationMs = Math.max(1, navigationMs - elapsed());
      throwIfLost(open);
      sites.assertAllowed();
      await afterEach?.();
    } catch (error) {
      throw nameStep(error, `Step ${index + 1} (${describeStep(step)}) failed: `, redact);
    }
  }
  return late;
}

interface StepLimits {
  readonly sites: StepSites;
  readonly timeoutMs: number;
}

/** The beginning of messages about the element of a step. */
const name = 'its selector';

async function act(open: OpenPage, step: Step, { sites, timeoutMs }: StepLimits): Promise<void> {
  if (timeoutMs <= 0 && step.wait === undefined)
    throw failed(`the steps took more than ${maxStepsMs / 1000} s in all.`);
  const { click, hover, type, press, select, scroll, waitFor, wait = 0 } = step;
  if (click !== undefined) {
    await clickAt(open, await pointAt(open, click, { name, timeoutMs, readiness: 'enabled' }));
  } else if (hover !== undefined) {
    await moveTo(open, await pointAt(open, hover, { name, timeoutMs, readiness: 'still' }));
  } else if (type !== undefined) {
    await use(open, type.selector, timeoutMs, (parts, left) => {
      const origin = sites.originForValues();
      return open.world.call(enterText, [parts, type.text, origin, left], limitOf(left), helpers);
    });
  } else if (select !== undefined) {
    await use(open, select.selector, timeoutMs, (parts, left) => {
      const origin = sites.originForValues();
      return open.world.call(chooseOption, [parts, select.value, origin, left], limitOf(left), helpers);
    });
  } else if (press !== undefined) {
    if (press.selector !== undefined) {
      await use(open, press.selector, timeoutMs, (parts, left) =>
        open.world.call(focusElement, [parts, left], limitOf(left), helpers),
      );
    }
    await pressKey(open, press.key);
  } else if (scroll !== undefined) {
    await scrollStep(open, scroll, timeoutMs);
  } else if (waitFor !== undefined) {
    await waitForStep(open, typeof waitFor === 'string' ? { selector: waitFor } : waitFor, timeoutMs);
  } else {
    await open.deadline.run(delay(wait), wait + callTimeoutMs, 'a step');
  }
}

const helpers = [...selecting, ...boxing, ...entering];
const limitOf = (left: number) => ({ timeoutMs: left + callTimeoutMs, what: 'a step' });

const obstacles: Readonly<Record<UseObstacle, string>> = {
  elsewhere: 'the page has navigated to another origin.',
  missing: `${name} matched an element that has disappeared.`,
  unfocusable: `${name} matched an element that does not take the focus.`,
  disabled: `${name} matched an element that is disabled.`,
  readOnly: `${name} matched a field that is read-only.`,
  noField: `${name} matched an element that is not a field for text.`,
  invalid: `${name} matched a field that does not accept the text.`,
  noSelect: `${name} matched an element that is not a select element.`,
  noOption: `${name} matched a select element without an enabled option that has this value or label.`,
};

type Parts = ReturnType<typeof parseSelector>;

/** Waits for an element and calls a function that uses it. If the page navigates, does the same in the next document. */
async function use(
  open: OpenPage,
  selector: string,
  timeoutMs: number,
  call: (parts: Parts, leftMs: number) => Promise<'done' | UseObstacle>,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  await untilVisible(open, selector, { name, timeoutMs });
  const used = await inAnyDocument(end, (left) => call(parseSelector(selector), left));
  if (used === null) throw failed('the page kept navigating.');
  if (used !== 'done') throw failed(obstacles[used]);
}

async function pressKey({ page, deadline }: OpenPage, key: string): Promise<void> {
  await deadline.run(page.keyboard.press(key), callTimeoutMs, 'the key').catch((error: unknown) => {
    // The page is busy with the effects of the key.
    if (!(error instanceof DeadlineError)) throw error;
  });
}

async function scrollStep(
  open: OpenPage,
  { selector, ...distance }: NonNullable<Step['scroll']>,
  timeoutMs: number,
): Promise<void> {
  const isInside = distance.by !== undefined || distance.to !== undefined;
  const scroll = (parts: Parts | null, left: number) =>
    open.world.call(scrollElement, [parts, distance, isInside, left], limitOf(left), helpers);
  if (selector !== undefined) await use(open, selector, timeoutMs, scroll);
  else await inAnyDocument(performance.now() + timeoutMs, (left) => scroll(null, left));
}

async function waitForStep(
  open: OpenPage,
  { selector, state = 'visible' }: Exclude<NonNullable<Step['waitFor']>, string>,
  timeoutMs: number,
): Promise<void> {
  const found = await find(open, { selector, state }, timeoutMs).catch(missedInSilence);
  if (found === 'refused') throw refusedSelector(name);
  if (found === 'found') return;
  const where = await explainMiss(open, selector);
  throw failed(`its element was not ${state} within ${timeoutMs} ms. ${where}`.trim());
}

/** Describes a step without its value. */
function describeStep({ goto, wait, scroll, press, ...step }: Step): string {
  if (goto !== undefined) return `goto ${JSON.stringify(goto)}`;
  if (wait !== undefined) return `wait ${wait}`;
  if (press !== undefined) {
    return `press ${press.key}${press.selector === undefined ? '' : ` in ${JSON.stringify(press.selector)}`}`;
  }
  if (scroll !== undefined)
    return scroll.selector === undefined ? 'scroll' : `scroll ${JSON.stringify(scroll.selector)}`;
  const [action = '', target = ''] = Object.entries(step)[0] ?? [];
  return `${action} ${JSON.stringify(typeof target === 'string' ? target : target.selector)}`;
}

/** Adds the step to the message of an error that the page or the request has caused. */
function nameStep(error: unknown, prefix: string, redact: (text: string) => string): unknown {
  if (error instanceof ServiceError) {
    const { code, message, causedBy, cause } = error;
    if (causedBy === 'service') return error;
    return new ServiceError(code, redact(`${prefix}${message}`), { causedBy, cause });
  }
  const reason =
    error instanceof DeadlineError
      ? 'the page did not respond.'
      : error instanceof DocumentGoneError
        ? 'the page kept navigating.'
        : undefined;
  if (reason === undefined) return error;
  return new ServiceError('CAPTURE_FAILED', `${prefix}${reason}`, { causedBy: 'page', cause: error });
}

const failed = (message: string) => new ServiceError('CAPTURE_FAILED', message, { causedBy: 'client' });
