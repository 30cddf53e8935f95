import process from 'node:process';
import { chromium } from 'playwright';
import { answerRequests } from './answer-requests.ts';
import { benchQuality, benchViewport } from './contender.ts';

const [, , executablePath = ''] = process.argv;
const browser = await chromium.launch({ executablePath });

answerRequests(
  async ({ url, html, format, page: { isFullPage } }) => {
    const context = await browser.newContext({ viewport: benchViewport });
    try {
      const page = await context.newPage();
      if (html === undefined) await page.goto(url, { waitUntil: 'load' });
      else await page.setContent(html, { waitUntil: 'load' });
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
