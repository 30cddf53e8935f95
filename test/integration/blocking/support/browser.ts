import { pino } from 'pino';
import { type Browser, chromium, type Page } from 'playwright';
import { inject } from 'vitest';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { type Blocker, loadBlocker } from '../../../../services/renderer/blocking/blocker.ts';
import { BlockingSession } from '../../../../services/renderer/blocking/blocking-session.ts';

export const { headlessShell, chromium: fullChromium } = inject('tools');

/** Starts a browser that resolves every host to loopback. */
export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--host-resolver-rules=MAP * 127.0.0.1'] });
}

/** Loads the blocker with the built-in list. */
export function builtInBlocker(): Promise<Blocker> {
  return loadBlocker({ log: pino({ level: 'silent' }) });
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
  const session = await BlockingSession.start(page, { ...blockNothing, ...block }, blocker);
  await page.goto(url, { waitUntil: 'load' });
  await session.hideBlockedLeftovers(Date.now() + 10_000);
  return { page, session };
}
