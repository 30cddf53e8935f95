import { pino } from 'pino';
import { type Browser, chromium, type Page } from 'playwright';
import { inject } from 'vitest';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { type Blocker, loadBlocker } from '../../../../services/renderer/blocking/blocker.ts';
import { BlockingSession } from '../../../../services/renderer/blocking/blocking-session.ts';
import { sharedSessionOf } from '../../../../services/renderer/browser/driver.ts';
import { RequestInterceptor } from '../../../../services/renderer/browser/request-interceptor.ts';
import { TargetTree } from '../../../../services/renderer/browser/target-tree.ts';

export const { headlessShell, chromium: fullChromium } = inject('tools');

/** Starts a browser that resolves every host to loopback. */
export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--host-resolver-rules=MAP * 127.0.0.1'] });
}

/** Loads the blocker with the built-in list. */
export function builtInBlocker(): Promise<Blocker> {
  return loadBlocker({ log: pino({ level: 'silent' }) });
}

/** Starts blocking in a page without other options of a capture. */
export function startBlocking(page: Page, block: RenderOptions['block'], blocker: Blocker): Promise<BlockingSession> {
  const targets = new TargetTree(page);
  const requests = new RequestInterceptor(targets);
  const { frameId } = sharedSessionOf(page);
  return BlockingSession.start({ page, frameId, targets, requests }, block, blocker);
}

export interface BlockedPage {
  readonly page: Page;
  readonly session: BlockingSession;
}

/** Opens a page with blocking, navigates, and prepares it for the screenshot. */
export async function openBlocked(
  browser: Browser,
  blocker: Blocker,
  url: string,
  block: Partial<RenderOptions['block']>,
): Promise<BlockedPage> {
  const context = await browser.newContext({ viewport: { width: 1000, height: 700 } });
  const page = await context.newPage();
  const session = await startBlocking(page, { ...blockNothing, ...block }, blocker);
  await page.goto(url, { waitUntil: 'load' });
  await session.hideBlockedLeftovers(Date.now() + 10_000);
  return { page, session };
}
