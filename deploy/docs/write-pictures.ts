// `npm run docs:pictures`: captures the pictures of the dashboard and the status page for the docs with a running service.
// WEBCAPTURE_URL is the address of the service (http://127.0.0.1:3000), WEBCAPTURE_API_KEY selects the account; start the service
// with `npm start` on an empty data folder. With WEBCAPTURE_ADMIN_TOKEN, which `npm start` passes on, the operator's page is
// captured too.
import { writeFile } from 'node:fs/promises';
import process from 'node:process';
import { buffer } from 'node:stream/consumers';
import { type CaptureOptions as AllOptions, Webcapture } from '@webcapture/client';

type CaptureOptions = Omit<AllOptions, 'background'>;

const url = (process.env['WEBCAPTURE_URL'] ?? 'http://127.0.0.1:3000').replace(/\/+$/, '');
const apiKey = process.env['WEBCAPTURE_API_KEY'];
if (!apiKey) throw new Error('Set WEBCAPTURE_API_KEY to the key that npm start printed.');
const adminToken = process.env['WEBCAPTURE_ADMIN_TOKEN'];
const client = new Webcapture({ url, apiKey, maxRetries: 0 });

const desktop: CaptureOptions = { viewport: { width: 1280, height: 800 }, colorScheme: 'light' };
const phone: CaptureOptions = { device: 'iPhone 14', colorScheme: 'light' };

/** Signs in through the form and then follows a link. Runs in the dashboard. */
const signIn = (secret: string, page: string, then = '') => `
  const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
  const see = async (selector) => {
    for (;;) {
      const found = document.querySelector(selector);
      if (found) return found;
      await pause();
    }
  };
  // The form uses the typed text only after it has been rendered again.
  const type = (field, text) => {
    field.value = text;
    field.dispatchEvent(new Event('input', { bubbles: true }));
    return pause();
  };
  const field = await see('#secret');
  await type(field, ${JSON.stringify(secret)});
  field.form.requestSubmit();
  await see('nav');
  location.hash = ${JSON.stringify(`#/${page}`)};
  ${then}`;

const dashboard = (page: string, waitFor: CaptureOptions['waitFor'], then?: string): CaptureOptions => ({
  url: `${url}/dashboard/${page === 'operator' ? '#/operator' : ''}`,
  script: signIn(page === 'operator' ? (adminToken ?? '') : apiKey, page, then),
  waitFor: { timeout: 30_000, required: true, ...waitFor },
  delay: 1000,
});

async function take(name: string, options: CaptureOptions): Promise<void> {
  const file = await client.captureFile({ format: 'webp', quality: 85, ...options });
  const bytes = await buffer(file.stream);
  await writeFile(new URL(`../../docs/images/${name}.webp`, import.meta.url), bytes);
  process.stdout.write(`docs/images/${name}.webp: ${Math.round(bytes.length / 1000)} kB\n`);
}

/** Creates the captures that the lists show. */
async function makeSamples(): Promise<string> {
  const poster = (title: string, colors: string) =>
    `<title>${title}</title><body style="margin:0;height:100vh;display:grid;place-items:center;font:bold 12vw Georgia,serif;color:#fff;background:linear-gradient(135deg,${colors})">${title}`;
  await client.capture({ html: poster('Autumn', '#c2410c,#fbbf24'), format: 'jpeg' });
  await client.capture({ html: poster('Invoice', '#334155,#94a3b8'), format: 'pdf' });
  await client.capture({ url: `${url}/docs`, isFullPage: true });
  await client.capture({ url: 'https://unknown.invalid/' }).catch(() => undefined);
  await client.capture({ url: `${url}/status.html`, isFullPage: true, format: 'webp', ...phone });
  const { uuid } = await client.capture({ html: poster('Evening', '#1e1b4b,#be185d'), background: true });
  await client.waitFor(uuid);
  const shown = await client.capture({ url: `${url}/status.html`, persistence: { enabled: true } });
  await client.refreshCapture(shown.uuid);
  return shown.uuid;
}

const capture = `
  await type(await see('#source'), ${JSON.stringify(`${url}/status.html`)});
  const button = [...document.querySelectorAll('button')].find(({ textContent }) => textContent.trim() === 'Capture');
  button.click();`;

const shown = await makeSamples();
await take('status', { url: `${url}/status.html`, ...desktop });
await take('status-dark', { url: `${url}/status.html`, ...desktop, colorScheme: 'dark' });
await take('dashboard', { ...desktop, ...dashboard('playground', { text: 'Details of the capture' }, capture) });
await take('dashboard-dark', { ...desktop, ...dashboard('captures', { text: 'completed' }), colorScheme: 'dark' });
await take('dashboard-capture', { ...desktop, ...dashboard(`captures/${shown}`, { text: 'Refresh' }) });
await take('dashboard-phone', { ...phone, ...dashboard('captures', { text: 'completed' }) });
if (adminToken) await take('dashboard-operator', { ...desktop, ...dashboard('operator', { text: 'us-east' }) });
