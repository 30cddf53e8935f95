import type { Browser, Page } from 'playwright';

/** Pause at each scroll position, and at the top before the picture, in milliseconds. */
const pauseMs = 100;
const lastPauseMs = 500;
/** Limit of the wait for an idle network. Pages that poll are captured when it ends. */
const idleTimeoutMs = 10_000;
/** The height to which endless pages are scrolled, in CSS pixels. */
const maxHeight = 20_000;

/**
 * Takes a picture or a PDF of a whole page as a careful script with Playwright does: it waits until the network is idle, scrolls through the page
 * for lazy content, returns to the top and waits for animations.
 */
export async function captureCarefully(
  browser: Browser,
  url: string,
  {
    viewport,
    isPdf = false,
  }: { readonly viewport: { readonly width: number; readonly height: number }; readonly isPdf?: boolean },
): Promise<Buffer> {
  const context = await browser.newContext({ viewport });
  try {
    const page = await context.newPage();
    await page.goto(url, { waitUntil: 'load', timeout: 30_000 });
    await page.waitForLoadState('networkidle', { timeout: idleTimeoutMs }).catch(() => undefined);
    await scrollThrough(page);
    await page.waitForTimeout(lastPauseMs);
    if (isPdf) return await page.pdf({ printBackground: true, format: 'A4' });
    return await page.screenshot({ fullPage: true });
  } finally {
    await context.close();
  }
}

function scrollThrough(page: Page): Promise<void> {
  return page.evaluate(
    async ([most, ms]) => {
      const bottom = () => Math.min(most, document.documentElement.scrollHeight);
      for (let y = 0; y < bottom(); y += innerHeight) {
        scrollTo({ top: y, behavior: 'instant' });
        await new Promise((resolve) => setTimeout(resolve, ms));
      }
      scrollTo({ top: 0, behavior: 'instant' });
    },
    [maxHeight, pauseMs] as const,
  );
}
