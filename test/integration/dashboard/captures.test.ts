import { readFile } from 'node:fs/promises';
import { PDFDocument } from '@cantoo/pdf-lib';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import type { Batch } from '@webcapture/shared/api/batch.ts';
import type { CaptureResult, CaptureState } from '@webcapture/shared/api/capture.ts';
import {
  expectAccessible,
  expectAllLooks,
  holdRequests,
  type OpenOptions,
  untilLive,
  useDashboard,
} from '../../harness/dashboard.ts';
import { makePdf } from '../../harness/make-pdf.ts';
import { diagnosticsExample } from '../../../services/front/api/capture-examples.ts';
import { until } from '../../harness/until.ts';
import { site, useService } from './service.ts';

const service = useService();
const openDashboard = useDashboard(service);

const open = (route: string, visitor: OpenOptions = { key: service().key }) =>
  openDashboard({ ...visitor, route: `#${route}` });

const statusOf = async (uuid: string) => (await service().api.call<CaptureState>('GET', `/captures/${uuid}`)).status;

test('the list shows and finds captures, and opens them with the keyboard', async () => {
  const { api } = service();
  await api.captured({ url: `${site}/hostile` });
  await api.captured({ url: `${site}/orchard` });
  const page = await open('/captures');
  const rows = page.getByRole('list', { name: 'Captures, newest first' }).getByRole('listitem');
  await rows.filter({ hasText: 'Page orchard' }).waitFor();
  const hostile = rows.filter({ hasText: '<img src=x onerror=alert(1)> \uFFFDtxt.exe\uFFFD WWW' });
  await hostile.waitFor();
  expect((await hostile.boundingBox())?.height).toBeLessThan(120);
  const drawn = () =>
    page.evaluate(() => {
      const images = [...document.querySelectorAll<HTMLImageElement>('.thumbnail img')];
      return images.filter(({ naturalWidth }) => naturalWidth > 0).length;
    });
  await until('the thumbnails', async () => (await drawn()) >= 2);
  await expectAllLooks(page, () => rows.filter({ hasText: 'Page orchard' }).waitFor());

  await page.getByRole('searchbox').fill('ORCHARD');
  await hostile.waitFor({ state: 'detached' });
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Page orchard' }).waitFor();
  await page.goBack();
  await rows.first().waitFor();
  expect(await page.getByRole('searchbox').inputValue()).toBe('ORCHARD');
});

test(
  'a picture that loads late does not move the page, so that a click reaches its target',
  { tags: 'long' },
  async () => {
    const { api } = service();
    const { uuid } = await api.captured({ url: `${site}/late`, viewport: { width: 400, height: 1500 } });
    const page = await open('/usage', { key: service().key, isPhone: true });
    const release = await holdRequests(page, '**/*.png*');
    await page.goto(`${service().url}/dashboard/#/captures/${uuid}`);
    await page.getByText('Loading the picture…').waitFor();
    const below = ['Facts', 'Report'].map((name) => page.getByRole('heading', { name }));
    const places = () => Promise.all(below.map(async (heading) => (await heading.boundingBox())?.y));
    for (const heading of below) await heading.waitFor();
    await untilLive(page);
    const before = await places();
    release();
    const picture = page.getByRole('img', { name: 'Picture of Page late' });
    await until('the picture', () => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth > 0));
    expect(await places()).toEqual(before);
    const widthOf = async (part: string) => (await page.locator(part).boundingBox())?.width;
    expect(await widthOf('.viewer-frame')).toBe(await widthOf('.viewer-bar'));
  },
);

test('a refresh is shown next to the previous picture, and a deleted capture is marked as deleted', async () => {
  const { api } = service();
  const { uuid } = await api.captured({
    url: `${site}/reading`,
    viewport: { width: 400, height: 200 },
    persistence: { enabled: true },
  });
  const page = await open(`/captures/${uuid}`);
  await page.getByRole('img', { name: 'Picture of Page reading' }).waitFor();
  await untilLive(page);
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByRole('heading', { name: 'Before and after the refresh' }).waitFor();
  const refreshed = await api.call<CaptureResult>('GET', `/captures/${uuid}`);
  expect(refreshed.refresh?.state).toBe('completed');
  const took = Date.parse(refreshed.refresh?.endedAt ?? '') - Date.parse(refreshed.refresh?.acceptedAt ?? '');
  await page.getByRole('heading', { name: `Time: ${took} ms`, exact: true }).waitFor();
  const words = page.getByText(/% changed: \d+ pixels\./);
  await words.waitFor();
  await page.getByRole('img', { name: /^Where the pictures differ: 0\.\d% of the area/ }).waitFor();
  expect(await page.getByRole('img', { name: /The page (before|after) the refresh/ }).count()).toBe(2);
  await expectAccessible(page);

  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  expect(await statusOf(uuid)).toBe('completed');
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('The capture was deleted.').waitFor();
  expect(await statusOf(uuid)).toBe('deleted');
});

test('an earlier picture is shown over the current one, with a slider', { tags: 'long' }, async () => {
  const { api } = service();
  const { uuid } = await api.captured({
    url: `${site}/reading`,
    viewport: { width: 400, height: 200 },
    persistence: { enabled: true, history: 2, compare: {} },
  });
  await api.call('POST', `/captures/${uuid}/refresh`);
  const state = () => api.call<CaptureResult>('GET', `/captures/${uuid}`);
  await until('the refresh', async () => (await state()).refresh?.state === 'completed');
  const share = (await state()).refresh?.comparison?.changedShare ?? 0;
  expect(share).toBeGreaterThan(0);
  const page = await open(`/captures/${uuid}`);
  const card = page.getByRole('region', { name: 'Earlier pictures' });
  await card.getByText(`${Number((100 * share).toFixed(1))}% changed`, { exact: true }).waitFor();
  const shown = card.locator('.earlier-pictures img');
  await until('the pictures', () =>
    shown.evaluateAll((images) => images.every((each) => (each as HTMLImageElement).naturalWidth === 400)),
  );
  await card.getByRole('img', { name: /^Where the pictures differ: .* of the area, in red$/ }).waitFor();
  const slider = card.getByRole('slider', { name: 'Before and after' });
  const cutOff = () => shown.nth(1).evaluate((image) => getComputedStyle(image).clipPath);
  await slider.press('Home');
  await until('the slider', async () => (await cutOff()) === 'inset(0px 100% 0px 0px)');
  await slider.press('ArrowRight');
  await until('the slider', async () => (await cutOff()) === 'inset(0px 99% 0px 0px)');
  await expectAccessible(page);
});

test('the diagnostics of a failed capture are shown as text, with its last picture', async () => {
  const { api, renderer } = service();
  const { uuid: _uuid, refresh: _refresh, expiresAt: _expiresAt, ...diagnostics } = diagnosticsExample;
  const [message] = diagnostics.console;
  if (message === undefined) throw new Error('the example has no message');
  const picture = await sharp({ create: { width: 64, height: 36, channels: 3, background: 'red' } })
    .jpeg()
    .toBuffer();
  const text = '<img src=x onerror=alert(1)>';
  const console = [{ ...message, text }];
  renderer.diagnostics = { diagnostics: { ...diagnostics, console }, picture: picture.toString('base64') };
  const { uuid } = await api.call<CaptureState>('POST', '/capture', {
    body: { url: `${site}/unreachable`, background: true },
  });
  await until('the failure', async () => (await statusOf(uuid)) === 'failed');
  renderer.diagnostics = null;
  const page = await open(`/captures/${uuid}`);
  const shown = page.getByRole('img', { name: 'The page when the capture failed' });
  await until('the picture', () => shown.evaluate((image) => (image as HTMLImageElement).naturalWidth === 64));
  await page.getByRole('cell', { name: text }).waitFor();
  expect(await page.locator('img[src="x"]').count()).toBe(0);
  await page.getByText('Requests (1 of 7)').click();
  await page.getByRole('cell', { name: 'https://example.com/data.json' }).waitFor();
  const [har] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download HAR' }).click(),
  ]);
  expect(JSON.parse(await readFile(await har.path(), 'utf8'))).toMatchObject({ log: { entries: [{}] } });
  await expectAccessible(page);
});

test('a hostile title is shown as text, completely', async () => {
  const { api } = service();
  const { uuid, report } = await api.captured({ url: `${site}/hostile` });
  const page = await open(`/captures/${uuid}`);
  const isThere = () => page.getByRole('heading', { name: '<img src=x onerror=alert(1)> \uFFFDtxt' }).waitFor();
  await isThere();
  expect(await page.title()).not.toMatch(/\u202E/);
  const title = page.locator('.finding').filter({ hasText: 'Title' });
  await title.getByRole('button', { name: 'Show all' }).click();
  const shown = async () => (await title.innerText()).match(/W/g)?.length;
  await expect.poll(shown).toBe(report.title.match(/W/g)?.length);
  expect(await page.locator('img[src="x"]').count()).toBe(0);
  await expectAllLooks(page, isThere);
});

test('the page of a capture shows the options of its request, and opens them in the playground', async () => {
  const { api, key } = service();
  const options = { viewport: { width: 400 }, colorScheme: 'dark', hide: ['.ad'], persistence: { enabled: true } };
  const { uuid } = await api.captured({ url: `${site}/options`, ...options });
  const page = await open(`/captures/${uuid}`);
  const shown = page.getByRole('region', { name: 'Options' });
  await expect
    .poll(() => shown.locator('dt').allInnerTexts())
    .toEqual(['viewport.width', 'colorScheme', 'hide', 'persistence.enabled']);
  expect(await shown.locator('dd').allInnerTexts()).toEqual(['400', 'dark', '[".ad"]', 'true']);
  await page.getByRole('region', { name: 'Facts' }).getByText('in 10 years').waitFor();
  expect(await page.getByRole('heading', { name: /Refreshes|Webhook deliveries/ }).count()).toBe(0);
  await page.getByRole('button', { name: 'Copy link' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(page.url());
  await expectAllLooks(page, () => shown.waitFor());

  await page.getByRole('link', { name: 'Open in playground' }).click();
  await expect.poll(() => page.getByLabel('Address', { exact: true }).inputValue()).toBe(`${site}/options`);
  const code = await page.getByRole('tabpanel').innerText();
  for (const option of ['"width": 400', '"colorScheme": "dark"', '".ad"']) expect(code).toContain(option);
  expect(page.url()).toBe(`${service().url}/dashboard/#/playground`);
  expect(await page.content()).not.toContain(key);
});

test('a capture of an error page shows its status; another spelling of the address is not reported', async () => {
  const { api, renderer } = service();
  const plainReportOf = renderer.reportOf;
  renderer.reportOf = (job) => ({ ...plainReportOf(job), httpStatus: 404, finalUrl: `${site}/` });
  const { uuid } = await api.captured({ url: site });
  renderer.reportOf = plainReportOf;
  const page = await open('/captures');
  const row = page.locator(`a[href$="${uuid}"]`);
  await row.getByText('completed, HTTP 404', { exact: true }).waitFor();
  await row.click();
  await page.getByText('The page answered with status 404.').waitFor();
  expect(await page.getByText(/^(Redirected|The address changed) to:/).count()).toBe(0);
});

test.each([
  { by: 'the server', text: 'Redirected to:', responseUrl: `${site}/moved` },
  { by: 'the page', text: 'The address changed to:', responseUrl: `${site}/` },
  { by: 'either, in an earlier version', text: 'The address changed to:', responseUrl: undefined },
])('an address that was changed by $by is shown as such', async ({ text, responseUrl }) => {
  const { api, renderer } = service();
  const plainReportOf = renderer.reportOf;
  renderer.reportOf = (job) => {
    const { responseUrl: _example, ...report } = plainReportOf(job);
    return { ...report, finalUrl: `${site}/moved`, ...(responseUrl !== undefined && { responseUrl }) };
  };
  const { uuid } = await api.captured({ url: site });
  renderer.reportOf = plainReportOf;
  const page = await open(`/captures/${uuid}`);
  await page.getByText(text).waitFor();
  expect(await page.getByText(/^(Redirected|The address changed) to:/).count()).toBe(1);
});

test('a failed capture has no card for a picture', async () => {
  const { api } = service();
  const { uuid } = await api.call<CaptureState>('POST', '/capture', {
    body: { url: `${site}/unreachable`, background: true },
  });
  await until('the failure', async () => (await statusOf(uuid)) === 'failed');
  const page = await open(`/captures/${uuid}`);
  await page.getByText('The site is unreachable.').waitFor();
  expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).not.toContain('Picture');
});

/** Returns the UUID of a capture whose file is this PDF. */
async function capturePdf(bytes: Uint8Array): Promise<string> {
  const { api, renderer } = service();
  const fileOf = renderer.fileOf.bind(renderer);
  renderer.fileOf = () => Buffer.from(bytes);
  const { uuid } = await api.captured({ url: `${site}/document`, format: 'pdf' });
  renderer.fileOf = fileOf;
  return uuid;
}

const openPdf = async (bytes: Uint8Array) => open(`/captures/${await capturePdf(bytes)}`);

test('the pages of a PDF are shown one at a time, with their text', async () => {
  const page = await openPdf(await makePdf(['First', 'Second <b>']));
  const picture = (number: number) => page.getByRole('img', { name: `Page ${number} of Page document`, exact: true });
  await picture(1).waitFor();
  await page.getByText('Page 1 of 2', { exact: true }).waitFor();
  const next = page.getByRole('button', { name: 'Next' });
  await next.click();
  await picture(2).waitFor();
  expect(await next.isDisabled()).toBe(true);
  const darkest = async () => (await sharp(await picture(2).screenshot()).stats()).channels[0]?.min;
  await expect.poll(darkest).toBeLessThan(100);
  await page.getByText('Text of page 2', { exact: true }).click();
  await expect.poll(() => page.getByRole('region', { name: 'Text of page 2' }).innerText()).toBe('Second <b>');
  await page.getByRole('button', { name: 'Previous' }).click();
  await picture(1).waitFor();
});

test('a PDF is accessible; one that is encrypted, damaged or too large is a link', { tags: 'long' }, async () => {
  const pages = await openPdf(await makePdf(['First', 'Second']));
  await pages.getByText('Text of page 1').click();
  await expectAllLooks(pages, () => pages.getByRole('img', { name: 'Page 1 of' }).waitFor());
  const encrypted = await PDFDocument.load(await makePdf(['Secret']));
  encrypted.encrypt({ userPassword: 'password', ownerPassword: 'password' });
  for (const [bytes, reason] of [
    [await encrypted.save(), 'It is encrypted with a password.'],
    [Buffer.from('%PDF-1.7 damaged'), 'It is damaged, or this browser is too old.'],
    [Buffer.alloc(30_000_001, '%PDF-1.7'), 'It is larger than 30.0 MB.'],
  ] as const) {
    const page = await openPdf(bytes);
    const shown = page.getByRole('region', { name: 'Picture' });
    await shown.getByText(reason).waitFor();
    expect(await shown.getByRole('link', { name: 'Open the PDF' }).getAttribute('href')).toMatch(/\/files\/.*\.pdf$/);
    await expectAccessible(page);
  }
});

test('a preview that cannot be loaded is a link, as after an update with other files', { tags: 'long' }, async () => {
  const uuid = await capturePdf(await makePdf(['First']));
  const page = await open('/usage');
  await page.route(/assets\/pdf-document.*\.js/, (route) => route.fulfill({ status: 404 }));
  await page.goto(`${service().url}/dashboard/#/captures/${uuid}`);
  await page.getByText('The preview could not be loaded. Reload the page.').waitFor();
});

test('a capture without a picture has a link to its file, and shows the fields', async () => {
  const { api } = service();
  service().renderer.extracted = { fields: { title: 'A title' } };
  const { uuid, fileUrl } = await api.captured({
    url: `${site}/data`,
    format: 'none',
    extractFields: { title: 'h1' },
  });
  const page = await open(`/captures/${uuid}`);
  const file = page.getByRole('region', { name: 'File', exact: true });
  await file.getByText('No picture, only extracted data').waitFor();
  expect(await file.getByRole('link', { name: 'Open the JSON file' }).getAttribute('href')).toBe(fileUrl);
  await page.locator('summary', { hasText: 'Fields' }).click();
  expect(await page.getByRole('region', { name: 'Fields' }).innerText()).toContain('"title": "A title"');
});

test('extracted data is shown as text: its beginning in the page, all of it as a download', async () => {
  const { api } = service();
  service().renderer.extracted = {
    text: `<b>bold</b> \u202Egnp.exe ${'W'.repeat(30_000)}`,
    links: [{ url: 'https://example.com/a', text: '\u202Ether' }],
    metadata: { title: 'Parts', description: null, language: null, canonicalUrl: null, openGraph: {}, icons: [] },
  };
  const extract = ['text', 'links', 'metadata'];
  const { uuid } = await api.captured({ url: `${site}/parts`, extract });
  const page = await open(`/captures/${uuid}`);
  await page.getByRole('button', { name: '1:1' }).click();
  await page.getByText('100 %').waitFor();

  for (const part of ['Text', 'Links', 'Metadata']) await page.locator('summary', { hasText: part }).click();
  const shown = await page.getByRole('region', { name: 'Text' }).innerText();
  expect([shown.slice(0, 21), shown.length]).toEqual(['<b>bold</b> \uFFFDgnp.exe ', 20_001]);
  const links = page.getByRole('region', { name: 'Links' });
  expect(await links.innerText()).toBe('https://example.com/a\n    \uFFFDther');
  expect(await links.locator('a').count()).toBe(0);
  await expectAccessible(page);

  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download Text' }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe(`${uuid}-text.txt`);
  expect(await readFile(await download.path(), 'utf8')).toContain('W'.repeat(30_000));
});

test('the page of a batch counts its captures, and saves their files', { tags: 'long' }, async () => {
  const { api, key, renderer, url } = service();
  const behavior = renderer.behavior;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  renderer.behavior = async (job, self) => {
    if (job.source.kind === 'url' && job.source.url.endsWith('/slow')) await released;
    await behavior(job, self);
  };
  const paths = ['quick', 'unreachable', 'slow'];
  const { id, captures } = await api.call<Batch>('POST', '/captures/batch', {
    body: { requests: paths.map((path) => ({ url: `${site}/${path}` })) },
  });
  const page = await open(`/batches/${id}`);
  await page.getByText('2 of 3 captures have ended.').waitFor();
  release();
  await page.getByText('3 of 3 captures have ended.').waitFor();
  renderer.behavior = behavior;
  const row = page.getByRole('row').filter({ hasText: `${site}/unreachable` });
  await row.getByText('NAVIGATION_FAILED: The site is unreachable.').waitFor();
  const counts = page.getByRole('region', { name: 'Captures by state' });
  expect(await counts.locator('dt, dd').allInnerTexts()).toEqual(
    Object.entries({ queued: 0, rendering: 0, completed: 2, failed: 1, expired: 0, deleted: 0 }).flatMap(
      ([state, count]) => [state, String(count)],
    ),
  );
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download files' }).click();
  const zip = await downloading;
  expect(zip.suggestedFilename()).toBe(`${id}.zip`);
  expect(await readFile(await zip.path(), 'latin1')).toContain(`0000-${captures[0]?.uuid}.png`);
  await expectAllLooks(page, () => row.waitFor());

  await page.getByRole('link', { name: captures[0]?.uuid ?? '' }).click();
  await page.getByRole('region', { name: 'Facts' }).getByRole('link', { name: id }).click();
  await page.getByRole('heading', { name: 'Batch', exact: true }).waitFor();
  await page.goto(`${url}/dashboard/#/captures?search=${id}`);
  await page
    .getByRole('link', { name: `Batch ${id}` })
    .first()
    .click();
  await page.getByRole('heading', { name: 'Batch', exact: true }).waitFor();
  await page.goto(`${url}/dashboard/#/batches/${captures[0]?.uuid}`);
  await page.getByText('NOT_FOUND').waitFor();
  expect(page.url()).not.toContain(key);
});
