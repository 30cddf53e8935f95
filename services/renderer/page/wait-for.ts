import type { SoftTimeout } from '@webcapture/shared/api/capture.ts';
import type { WaitFor } from '@webcapture/shared/api/option-schemas.ts';
import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { DeadlineError, delay } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { DocumentGoneError } from '../browser/isolated-world.ts';
import { callTimeoutMs } from './deadline.ts';
import { explainMiss, refusedSelector } from './miss.ts';
import type { OpenPage } from './open.ts';
import { boxing } from './scripts/boxes.ts';
import { type Found, untilFound } from './scripts/finding.ts';
import { selecting } from './scripts/selecting.ts';

/** Delay before a function is called again in a page that has navigated. */
const moveDelayMs = 20;

/**
 * Waits for the element or text of `waitFor`, also across navigations.
 *
 * @returns the soft timeout, if any
 * @throws ServiceError CAPTURE_FAILED that names the condition, if the condition is required or the browser does not support its selector
 */
export async function waitFor(open: OpenPage, wanted: WaitFor): Promise<SoftTimeout[]> {
  const found = await find(open, wanted, wanted.timeout).catch(missedInSilence);
  if (found === 'found') return [];
  const name =
    wanted.selector === undefined
      ? `waitFor.text ${JSON.stringify(wanted.text)}`
      : `waitFor.selector ${JSON.stringify(wanted.selector)}`;
  if (found === 'refused') throw refusedSelector(name);
  if (!wanted.required) return ['waitFor'];
  const where = wanted.selector === undefined ? '' : await explainMiss(open, wanted.selector);
  const message = `${name} was not ${wanted.state} within ${wanted.timeout} ms. ${where}`.trim();
  throw new ServiceError('CAPTURE_FAILED', message, { causedBy: 'client' });
}

/**
 * Polls until an element or text is in the wanted state, for at most `timeoutMs`.
 *
 * @throws DeadlineError if the page does not respond
 */
export async function find(
  { world }: OpenPage,
  { selector, text, state }: Pick<WaitFor, 'selector' | 'text' | 'state'>,
  timeoutMs: number,
): Promise<Found> {
  const sought = {
    ...(selector === undefined ? {} : { parts: parseSelector(selector) }),
    ...(text === undefined ? {} : { text }),
    state,
  };
  const helpers = [...selecting, ...boxing];
  const look = (left: number) =>
    world.call(untilFound, [sought, left], { timeoutMs: left + callTimeoutMs, what: 'waitFor' }, helpers);
  return (await inAnyDocument(performance.now() + timeoutMs, look)) ?? 'missed';
}

/**
 * Calls a function in the page, and again in the next document if the page navigates. Returns null if the page still navigates when the
 * time is over.
 *
 * @param end by `performance.now()`
 * @param call gets the remaining milliseconds
 */
export async function inAnyDocument<T>(end: number, call: (leftMs: number) => Promise<T>): Promise<T | null> {
  for (;;) {
    try {
      return await call(Math.max(0, end - performance.now()));
    } catch (error) {
      if (!(error instanceof DocumentGoneError)) throw error;
      if (performance.now() >= end) return null;
      await delay(moveDelayMs);
    }
  }
}

/** Returns `missed` for a timeout, so that {@link find} treats a page that does not respond as a miss. */
export function missedInSilence(error: unknown): 'missed' {
  if (error instanceof DeadlineError) return 'missed';
  throw error;
}
