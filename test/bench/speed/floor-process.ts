import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { chromium, type BrowserContext, type CDPSession, type Page } from 'playwright';
import { answerRequests } from './answer-requests.ts';
import { benchQuality, benchViewport } from './contender.ts';

interface Spare {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly cdp: CDPSession;
}

const [, , executablePath = '', spareCount = '1'] = process.argv;
const browser = await chromium.launch({ executablePath });

async function open(): Promise<Spare> {
  const context = await browser.newContext({ viewport: benchViewport });
  const page = await context.newPage();
  return { context, page, cdp: await context.newCDPSession(page) };
}

let closing = false;
const spares: Promise<Spare>[] = Array.from({ length: Number(spareCount) }, () => open());
await Promise.all(spares);

function addSpare(): void {
  if (closing) return;
  const spare = open();
  spare.catch(() => undefined);
  spares.push(spare);
}

answerRequests(
  async ({ url, format, page: { isFullPage } }) => {
    const { context, page, cdp } = await (spares.shift() ?? open());
    try {
      await page.goto(url, { waitUntil: 'load' });
      if (format === 'pdf') {
        const { data } = await cdp.send('Page.printToPDF', {
          printBackground: true,
          generateTaggedPDF: false,
          paperWidth: 8.27,
          paperHeight: 11.7,
        });
        return Buffer.from(data, 'base64');
      }
      const how = format === 'png' ? { format, optimizeForSpeed: true } : { format, quality: benchQuality };
      const params = { ...how, ...(isFullPage ? await wholePage(cdp) : {}) };
      const take = () => cdp.send('Page.captureScreenshot', params);
      // For some milliseconds after a navigation there may be no surface.
      const { data } = await take().catch(() => setTimeout(30).then(take));
      return Buffer.from(data, 'base64');
    } finally {
      // Closing and opening are not part of the measured time.
      void context.close().then(addSpare);
    }
  },
  () => {
    closing = true;
    return browser.close();
  },
);

async function wholePage(cdp: CDPSession) {
  const { cssContentSize } = await cdp.send('Page.getLayoutMetrics');
  return { captureBeyondViewport: true, clip: { ...cssContentSize, scale: 1 } };
}
