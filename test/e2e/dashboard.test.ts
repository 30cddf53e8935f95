import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Webcapture } from '@webcapture/client';
import type { NewKeyView } from '@webcapture/shared/api/api-key.ts';
import { expectAccessible, useDashboard } from '../harness/dashboard.ts';
import { adminToken, useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet();
const site = useSite();
const open = useDashboard(fleet);

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });
const report = (page: Page) => page.getByRole('region', { name: 'Report' });

async function writeHtml(page: Page, html: string): Promise<void> {
  await page.getByRole('button', { name: 'HTML', exact: true }).click();
  await page.getByRole('textbox', { name: 'HTML' }).fill(html);
}

describe('signing in', () => {
  test('an unknown key is rejected with a message, a valid one opens the playground and appears in no address', async () => {
    const page = await open();
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await page.getByLabel('API key').fill('wc_live_this-key-does-not-exist');
    await page.keyboard.press('Enter');
    await page.getByText('This key does not exist.').waitFor();

    await page.getByLabel('API key').fill(fleet().key);
    await page.keyboard.press('Enter');
    await heading(page, 'Playground').waitFor();
    await page.getByLabel('Address', { exact: true }).waitFor();
    expect([page.url(), ...addresses].filter((address) => address.includes(fleet().key))).toEqual([]);
    expect(await page.evaluate(() => Object.values(localStorage).join())).not.toContain(fleet().key);
    // Requests to another origin would reach a third party.
    expect(addresses.filter((address) => !address.startsWith(fleet().url))).toEqual([]);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading(page, 'Sign in').waitFor();
    expect(await page.evaluate(() => Object.values(sessionStorage).join())).not.toContain(fleet().key);
  });

  test('a key that is revoked while the page is open is signed out with the reason', { tags: 'long' }, async () => {
    const { id, key } = await fleet().api.call<NewKeyView>('POST', '/keys', {
      body: { name: 'short-lived', scopes: ['capture', 'read'] },
    });
    const page = await open({ key });
    await writeHtml(page, '<h1>Hello</h1>');
    await fleet().api.call('DELETE', `/keys/${id}`);
    await page.keyboard.press('Control+Enter');
    await page.getByText(/You were signed out\. .*revoked/).waitFor();
    expect(await heading(page, 'Sign in').isVisible()).toBe(true);
    // The next user does not see the HTML of the previous one.
    await page.getByLabel('API key').fill(fleet().key);
    await page.keyboard.press('Enter');
    expect(await page.getByLabel('Address', { exact: true }).inputValue()).toBe('');
  });

  test('a key with only the scope capture signs in; the key of a suspended account is rejected with the reason', async () => {
    const { admin } = new Webcapture({ url: fleet().url, apiKey: adminToken });
    const { id: accountId } = await admin.createAccount({ name: 'Example' });
    const { key } = await admin.createKey({ accountId, name: 'Capturing', scopes: ['capture'] });
    const page = await open();
    await page.getByLabel('API key').fill(key);
    await page.keyboard.press('Enter');
    await heading(page, 'Playground').waitFor();
    await page.goto(`${fleet().url}/dashboard/#/keys`);
    await page.getByText('Your key does not have the scope manage').waitFor();

    await admin.changeAccount(accountId, { suspended: true });
    const suspended = page.getByText(/The account of this API key is suspended/).first();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading(page, 'Sign in').waitFor();
    // The field has the focus as soon as it appears, and keeps it.
    await page.keyboard.type(key);
    await page.keyboard.press('Enter');
    await suspended.waitFor();
    expect(await heading(page, 'Sign in').isVisible()).toBe(true);
  });

  test('the operator signs in separately', async () => {
    const page = await open({ route: '#/operator' });
    await page.getByLabel('Admin token').fill('not-the-admin-token');
    await page.keyboard.press('Enter');
    await page.getByText('This is not the admin token.').waitFor();
    await page.getByLabel('Admin token').fill(adminToken);
    await page.keyboard.press('Enter');
    await heading(page, 'Operator').waitFor();
    const usage = page.getByRole('region', { name: 'Usage by account' });
    await usage.getByRole('table').or(usage.getByText('No account has used the service')).waitFor();
    await usage.getByLabel('Period').selectOption('90 days');
    await usage.getByRole('table').or(usage.getByText('No account has used the service')).waitFor();
    await page.getByRole('link', { name: 'Playground' }).click();
    await heading(page, 'Sign in').waitFor();
  });
});

describe('the playground', () => {
  test('makes a picture, shows its report, and shows the request without the key', async () => {
    const page = await open({ key: fleet().key });
    await page.getByLabel('Address', { exact: true }).fill(site().url('/color', { c: '00ff00' }));
    await page.keyboard.press('Control+Enter');
    await report(page).getByText('The page answered with status 200.').waitFor();
    const picture = page.getByRole('img', { name: /^Capture of/ });
    await expect.poll(() => picture.evaluate((image) => Number(Reflect.get(image, 'naturalWidth')))).toBe(1280);
    await page.getByRole('button', { name: '1:1' }).click();
    await expect.poll(async () => (await picture.boundingBox())?.width).toBe(1280);

    for (const language of ['curl', 'TypeScript', 'Python', 'Command line']) {
      await page.getByRole('tab', { name: language }).click();
      await page.getByRole('tab', { name: language, selected: true }).waitFor();
      const code = await page.getByRole('tabpanel').textContent();
      expect(code).toContain('c=00ff00');
      expect(code).toContain('WEBCAPTURE_API_KEY');
      expect(code).not.toContain(fleet().key);
    }
    const file = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    expect((await file).suggestedFilename()).toMatch(/\.png$/);
  });

  test('shows the progress of a capture', async () => {
    const page = await open({ key: fleet().key });
    await page.getByLabel('Address', { exact: true }).fill(site().url('/slow', { delay: 3000 }));
    await page.keyboard.press('Control+Enter');
    const shown = page.getByRole('status').filter({ hasText: 'in us-east' });
    await shown.waitFor();
    await page.getByText('Rendering in us-east').waitFor();
    await page.getByText('the capture continues and is charged').waitFor();
    await report(page).waitFor();
    expect(await shown.count()).toBe(0);
  });

  test('follows a background capture, and signs a link that works', { tags: 'long' }, async () => {
    const page = await open({ key: fleet().key });
    await page.getByLabel('Address', { exact: true }).fill(site().url('/text'));
    await page.getByLabel('Search the options').fill('queue the capture');
    await page.getByRole('checkbox', { name: 'Background' }).check();
    await page.keyboard.press('Control+Enter');
    await report(page).waitFor();

    await page.getByRole('button', { name: 'Reset' }).click();
    await page.getByRole('tab', { name: 'Link' }).click();
    await page.getByRole('button', { name: 'Create a key for links' }).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const link = (await page.getByRole('tabpanel').locator('pre').textContent()) ?? '';
    const answer = await fetch(link);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
  });

  test('shows errors at their field: schema errors immediately, errors of the service after the request', async () => {
    const page = await open({ key: fleet().key });
    await writeHtml(page, '<h1>Hello</h1>');
    let captures = 0;
    page.on('request', (request) => (captures += Number(request.url().endsWith('/capture'))));
    await page.getByLabel('Search the options').fill('viewport');
    const width = page.getByRole('group', { name: 'Viewport' }).getByLabel('Width');
    await width.fill('3');
    await expect.poll(() => width.getAttribute('aria-invalid')).toBe('true');
    await page.getByText('must be an integer from 16 to 7680').waitFor();
    await page.keyboard.press('Control+Enter');
    expect(captures).toBe(0);

    // A hidden field is made visible again.
    await page.getByLabel('Search the options').fill('no such option');
    await page.keyboard.press('Control+Enter');
    await expect.poll(() => width.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(captures).toBe(0);

    await width.fill('');
    await page.getByLabel('Search the options').fill('locale');
    await page.getByLabel('Locale').fill('no-such-language-tag');
    await page.keyboard.press('Control+Enter');
    await page.locator('.field-error', { hasText: /must be a language tag/ }).waitFor();
    expect(captures).toBe(1);
    // Untouched fields are not sent.
    expect(await page.getByRole('tabpanel').textContent()).not.toContain('viewport');
  });

  test('shows hostile titles and addresses as text', { tags: 'long' }, async () => {
    const page = await open({ key: fleet().key });
    const title = '<img src=x onerror=alert(1)>\u202Egnp.exe</title><script>alert(2)</script>';
    await writeHtml(
      page,
      `<script>document.title = ${JSON.stringify(title).replaceAll('<', String.raw`\u003c`)}</script>`,
    );
    await page.keyboard.press('Control+Enter');
    await report(page).getByText('<img src=x onerror=alert(1)>').waitFor();
    expect(await page.locator('main img[src="x"], main script').count()).toBe(0);
    // Copied code contains no direction marks.
    await page.getByRole('button', { name: 'Address', exact: true }).click();
    await page.getByLabel('Address', { exact: true }).fill("https://example.com/'\u202Egnp");
    await expect.poll(() => page.getByRole('tabpanel').textContent()).toContain(String.raw`\u202egnp`);
  });

  test('does not load a picture of 100,000 pixels until the user requests it', { tags: 'long' }, async () => {
    const page = await open({ key: fleet().key });
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await writeHtml(page, '<body style="margin: 0"><div style="height: 99990px; background: green">');
    await page.getByRole('checkbox', { name: 'Full page' }).check();
    await page.getByLabel('Search the options').fill('viewport');
    await page.getByRole('group', { name: 'Viewport' }).getByLabel('Width').fill('410');
    await page.keyboard.press('Control+Enter');
    await page.getByText('410 × 99,990').waitFor();
    expect(addresses.filter((address) => address.includes('/files/'))).toEqual([]);
    await page.getByRole('button', { name: 'Show all of it' }).click();
    const picture = page.getByRole('img', { name: /^Capture of/ });
    await expect.poll(() => picture.evaluate((image) => Number(Reflect.get(image, 'naturalHeight')))).toBe(99_990);
  });

  test('recovers automatically when the service does not respond', async () => {
    const page = await open({ key: fleet().key, route: '#/keys' });
    await heading(page, 'Keys').waitFor();
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByRole('alert').getByText('The service does not respond.').waitFor();
    await page.context().setOffline(false);
    await page.getByLabel('Address', { exact: true }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });
});

describe('accessibility', () => {
  test('everything works with the keyboard alone', async () => {
    const page = await open();
    await page.keyboard.type(fleet().key);
    await page.keyboard.press('Enter');
    await heading(page, 'Playground').waitFor();
    const address = page.getByLabel('Address', { exact: true });
    await address.waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '');
    const tabTo = async (text: string, key = 'Tab') => {
      for (let count = 0; count < 60 && (await focused()) !== text; count++) await page.keyboard.press(key);
      expect(await focused()).toBe(text);
    };
    await tabTo('Usage');
    await page.keyboard.press('Enter');
    await heading(page, 'Usage').waitFor();
    // Screen readers then announce the new page.
    await expect.poll(focused).toBe('Usage');
    await tabTo('Playground', 'Shift+Tab');
    await page.keyboard.press('Enter');
    await expect.poll(focused).toBe('Playground');
    await address.waitFor();

    await tabTo('HTML');
    await page.keyboard.press('Enter');
    const editor = page.getByRole('textbox', { name: 'HTML' });
    const isInEditor = () => editor.evaluate((element) => element === document.activeElement);
    await editor.waitFor();
    await page.keyboard.press('Tab');
    expect(await isInEditor()).toBe(true);
    await page.keyboard.type('<p>Hello');
    await page.keyboard.press('Tab');
    expect(await editor.inputValue()).toBe('<p>Hello  ');
    // After Escape, Tab leaves the editor.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    expect(await isInEditor()).toBe(false);
    await tabTo('Capture');
    await page.keyboard.press('Enter');
    await report(page).waitFor();
    await tabTo('Download');
  });

  test('axe finds no serious problem on the playground, light and dark', { tags: 'long' }, async () => {
    const page = await open({ key: fleet().key });
    await heading(page, 'Playground').waitFor();
    // The network is never idle, because pages follow events.
    await expect.poll(() => page.locator('.is-loading').count()).toBe(0);
    await writeHtml(page, '<h1>Hello</h1>');
    await page.keyboard.press('Control+Enter');
    await report(page).waitFor();
    for (const isDark of [false, true]) {
      await page.emulateMedia({ colorScheme: isDark ? 'dark' : 'light' });
      // A hundred fields are slow to check. In dark mode one group is enough, because colors are pairs for light and dark.
      await page
        .locator('.option-group')
        .evaluateAll(
          (all, some) => all.forEach((each, index) => each.toggleAttribute('open', index < some)),
          isDark ? 1 : Infinity,
        );
      await expectAccessible(page);
    }
  });

  test('the sign-in page is also accessible, and fits a phone', { tags: 'long' }, async () => {
    const page = await open({ isPhone: true });
    await heading(page, 'Sign in').waitFor();
    await expectAccessible(page);
    const signedIn = await open({ key: fleet().key, isPhone: true });
    await signedIn.getByRole('button', { name: 'Menu' }).click();
    await signedIn.getByRole('link', { name: 'Captures' }).click();
    await heading(signedIn, 'Captures').waitFor();
    for (const each of [page, signedIn]) {
      expect(await each.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    }
  });
});

describe('behind a proxy that adds a path', () => {
  let proxy: Server;
  beforeAll(async () => {
    const prefix = '/tools/webcapture';
    proxy = createServer((incoming, outgoing) => {
      const { url = '', method, headers } = incoming;
      if (!url.startsWith(`${prefix}/`)) return void outgoing.writeHead(404).end();
      const inner = httpRequest(fleet().url + url.slice(prefix.length), { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(inner);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => new Promise((resolve) => proxy.close(resolve)));

  test(
    'the dashboard loads without the trailing slash, and sends requests to the service under that path',
    { tags: 'long' },
    async () => {
      const base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/tools/webcapture`;
      const page = await open({ key: fleet().key, base });
      await page.goto(`${base}/dashboard`);
      await writeHtml(page, '<h1>Hello</h1>');
      await page.keyboard.press('Control+Enter');
      await report(page).waitFor();
      expect(page.url()).toBe(`${base}/dashboard/`);
      expect(await page.getByRole('tabpanel').textContent()).toContain(`${base}/capture`);
    },
  );
});
