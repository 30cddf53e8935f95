import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { maxTotalWaitMs } from '@webcapture/shared/api/steps.ts';
import { describeValue } from '../validation/explain-errors.ts';
import { hasUser, isHttpUrl } from './http-url.ts';

/** Yields the violated rules of steps that a schema cannot express. */
export function* brokenStepRules({ steps = [], url }: Pick<CaptureRequest, 'steps' | 'url'>): Generator<string> {
  for (const [index, { goto, scroll }] of steps.entries()) {
    if (goto !== undefined) yield* brokenAddress(goto, `steps.${index}.goto`, url);
    if (scroll === undefined) continue;
    const { selector, by, to } = scroll;
    if (by !== undefined && to !== undefined) {
      yield `steps.${index}.scroll: send either by or to, not both`;
    }
    if (selector === undefined && by === undefined && to === undefined) {
      yield `steps.${index}.scroll needs selector, by or to`;
    }
  }
  const waitMs = steps.reduce((total, { wait = 0 }) => total + wait, 0);
  if (waitMs > maxTotalWaitMs) {
    yield `steps must wait for at most ${maxTotalWaitMs} ms in all, without waitFor, not ${waitMs}`;
  }
}

function* brokenAddress(address: string, field: string, url: string | undefined): Generator<string> {
  if (url === undefined) yield `${field} needs url: supplied html is on no site`;
  if (!isHttpUrl(address)) {
    yield `${field} must be an absolute http or https address like "https://example.com/", not ${describeValue(address)}`;
  }
  // The message omits the address, because messages are logged and the address contains a password.
  if (hasUser(address)) yield `${field} must have no user name or password`;
}
