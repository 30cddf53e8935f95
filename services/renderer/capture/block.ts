import type { Page } from 'playwright-core';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import type { Blocker } from '../blocking/blocker.ts';
import { BlockingSession } from '../blocking/blocking-session.ts';

export type { BlockingSession };

/** Setting up blocking takes milliseconds; a browser that takes this long is not well. */
const setUpMs = 5000;

/**
 * Blocks in a fresh page what the capture asked for, from the next navigation on. Call it before that, and only when an
 * option is on. Rejects when the page is gone or does not answer.
 */
export function applyBlocking(page: Page, block: RenderOptions['block'], blocker: Blocker): Promise<BlockingSession> {
  return withDeadline(BlockingSession.start(page, block, blocker), setUpMs, 'setting up blocking');
}
