import process from 'node:process';
import { chromium } from 'playwright';
import { captureCarefully } from '../pages/careful-script.ts';
import { answerRequests } from './answer-requests.ts';
import { benchViewport } from './contender.ts';

const [, , executablePath = ''] = process.argv;
const browser = await chromium.launch({ executablePath });

answerRequests(
  ({ url, format }) => captureCarefully(browser, url, { viewport: benchViewport, isPdf: format === 'pdf' }),
  () => browser.close(),
);
