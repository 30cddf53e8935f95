import process from 'node:process';
import { chromium } from 'playwright';
import { answerRequests } from './answer-requests.ts';
import { benchQuality, benchViewport } from './contender.ts';

const [, , executablePath = ''] = process.argv;
const browser = await chromium.launch({ executablePath });

answerRequests(
  async ({ url, format, page: { isFullPage } }) => {
    const context = await browser.newContext({ viewport: benchViewport });
    try {
      const page = await context.newPage();
      await page.goto(url, { waitUntil: 'load' });
      if (format === 'pdf') return await page.pdf({ printBackground: true, format: 'A4' });
      return await page.screenshot({
        type: format,
        fullPage: isFullPage,
        ...(format === 'jpeg' ? { quality: benchQuality } : {}),
      });
    } finally {
      await context.close();
    }
  },
  () => browser.close(),
);
