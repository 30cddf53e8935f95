import { expect, test } from 'vitest';
import type { Session } from '@webcapture/shared/api/session.ts';
import { expectAllLooks, type OpenOptions, useDashboard } from '../../harness/dashboard.ts';
import { site, useService } from './service.ts';

const service = useService();
const openDashboard = useDashboard(service);

const open = (route: string, visitor: OpenOptions = { key: service().key }) =>
  openDashboard({ ...visitor, route: `#${route}` });

const linkTo = (request: unknown) => `/playground?request=${encodeURIComponent(JSON.stringify(request))}`;

const secrets = {
  headers: { 'X-Key': 'hidden-1' },
  cookies: [{ name: 'id', value: 'hidden-2' }],
  auth: { username: 'hidden-3', password: 'hidden-4' },
  css: '.hidden-5 {}',
  script: 'hidden6()',
};

test('a link fills the playground, except for secrets, webhooks and unknown options', async () => {
  const pdf = { paper: 'A5', encryption: { userPassword: 'hidden-7', ownerPassword: 'hidden-8' } };
  const webhook = { url: 'https://hooks.example/hidden-11' };
  const request = {
    url: `${site}/linked`,
    background: true,
    webhook,
    format: 'pdf',
    delay: 20,
    pdf,
    unknown: 1,
    ...secrets,
  };
  const page = await open(linkTo(request));
  const code = page.getByRole('tabpanel');
  await expect.poll(() => code.innerText()).toContain('"delay": 20');
  expect(await code.innerText()).toContain('"paper": "A5"');
  expect(await page.content()).not.toMatch(/hidden-?\d|"unknown"/);
  expect(page.url()).toBe(`${service().url}/dashboard/#/playground`);

  // A link that is opened while the playground is shown.
  await page.goto(`${service().url}/dashboard/#${linkTo({ html: '<h1>Linked</h1>' })}`);
  await expect.poll(() => page.getByRole('textbox', { name: 'HTML' }).inputValue()).toBe('<h1>Linked</h1>');
  expect(await code.innerText()).not.toContain('delay');
});

test.each(['{', '[]', '"text"', '{"url":5,"viewport":"wide","hide":{}}'])(
  'a link with %s instead of a request shows the form',
  async (request) => {
    const page = await open(`/playground?request=${encodeURIComponent(request)}`);
    await page.getByLabel('Address', { exact: true }).waitFor();
    await page.getByRole('tabpanel').waitFor();
  },
);

test('the form survives a reload and can be copied as a link, both without secrets', async () => {
  const page = await open('/playground');
  await page.getByLabel('Address', { exact: true }).fill('https://user:hidden-9@example.com/kept');
  await page.getByLabel('Search the options').fill('delay');
  await page.getByLabel('Delay').fill('30');
  await page.getByLabel('Search the options').fill('style sheet');
  await page.getByLabel('CSS').fill('.hidden-5 {}');
  await page.getByLabel('Search the options').fill('webhook');
  await page.getByRole('group', { name: 'Webhook' }).getByLabel('URL').fill('https://hooks.example/hidden-10');
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByText('Copied', { exact: true }).waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(decodeURIComponent(link)).not.toContain('hidden');
  const other = await open(link.slice(link.indexOf('#') + 1));
  await expect.poll(() => other.getByLabel('Address', { exact: true }).inputValue()).toBe('https://example.com/kept');
  expect(await other.getByRole('tabpanel').innerText()).toContain('"delay": 30');

  await page.reload();
  await expect.poll(() => page.getByRole('tabpanel').innerText()).toContain('"delay": 30');
  expect(await page.getByLabel('Address', { exact: true }).inputValue()).toContain('example.com/kept');
  expect(await page.getByRole('tabpanel').innerText()).not.toContain('hidden-5');
  expect(await page.evaluate(() => Object.values(sessionStorage).join())).not.toContain('hidden-5');

  // The next user must not see the request.
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  expect(await page.evaluate(() => Object.values(sessionStorage).join())).not.toContain('kept');
});

test('steps are entered as an action each, and copied without what they enter', async () => {
  const page = await open('/playground');
  const code = page.getByRole('tabpanel');
  await page.getByLabel('Address', { exact: true }).fill('https://example.com/login');
  await page.getByLabel('Search the options').fill('actions on the page');
  const steps = page.getByRole('group', { name: 'Steps', exact: true });
  const add = steps.getByRole('button', { name: 'Add to Steps' });
  await add.click();
  await page.getByText('must be an object with one of goto, click').waitFor();
  await steps.getByLabel('Steps 1: action').selectOption('Type');
  const first = steps.getByRole('group', { name: 'Steps 1', exact: true });
  await first.getByLabel('Selector').fill('#password');
  await first.getByLabel('Text').fill('hidden-12');
  await add.click();
  await steps.getByLabel('Steps 2: action').selectOption('Hover');
  await steps.getByLabel('Steps 2: action').selectOption('Wait for');
  await steps
    .getByRole('group', { name: 'Steps 2', exact: true })
    .getByLabel('Wait for', { exact: true })
    .fill('.account');
  const sent = async () => (await code.innerText()).replaceAll(/\s+/g, '');
  const shown = '"steps":[{"type":{"selector":"#password","text":"hidden-12"}},{"waitFor":".account"}]';
  await expect.poll(sent).toContain(shown);

  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByText('Copied', { exact: true }).waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(decodeURIComponent(link)).toContain('"steps":[{"type":{"selector":"#password"}},{"waitFor":".account"}]');
  await page.reload();
  await expect.poll(sent).toContain('"steps":[{"type":{"selector":"#password"}},{"waitFor":".account"}]');
  expect(await page.evaluate(() => Object.values(sessionStorage).join())).not.toContain('hidden');
});

test('only installed regions are offered', async () => {
  const page = await open('/playground');
  await page.getByLabel('Search the options').fill('region in which');
  await expect
    .poll(() => page.getByLabel('Region').locator('option').allInnerTexts())
    .toEqual(['auto (default)', 'us-east']);
});

test('named fields are selectors, or rules as JSON', async () => {
  const prices = { selector: '.price', list: true };
  const page = await open(linkTo({ url: `${site}/fields`, extractFields: { title: 'h1', prices } }));
  const code = page.getByRole('tabpanel');
  await expect.poll(() => code.innerText()).toContain('"list": true');
  await page.getByLabel('Search the options').fill('fields to return');
  const value = page.getByLabel('Extract fields 2: value');
  expect(await value.inputValue()).toBe(JSON.stringify(prices));
  await value.fill('{ "selector": "b" ');
  await expect.poll(() => code.innerText()).not.toContain('"list": true');
  await value.fill('{ "selector": "b", "attribute": "id" }');
  await expect.poll(() => code.innerText()).toContain('"attribute": "id"');
  expect(await value.inputValue()).toBe('{ "selector": "b", "attribute": "id" }');
});

test('the report shows the time of each step, and of a response from the cache the steps of the earlier capture', async () => {
  const page = await open(linkTo({ url: `${site}/cached`, responseCache: { enabled: true } }));
  const report = page.getByRole('region', { name: 'Report' });
  const steps = async () => {
    const shown = await report.getByRole('figure', { name: 'Time by steps' }).getByRole('listitem').allInnerTexts();
    return shown.map((text) => text.trim().split(' ')[0]);
  };
  await page.getByRole('button', { name: 'Capture', exact: true }).click();
  await report.getByRole('heading', { name: /^Time: / }).waitFor();
  const earlier = ['queue', 'open', 'navigate', 'settle', 'shoot', 'store', 'result'];
  expect(await steps()).toEqual([...earlier, 'answer']);
  await page.getByRole('button', { name: 'Capture', exact: true }).click();
  await report.getByRole('heading', { name: /^Time of the earlier capture: / }).waitFor();
  expect(await steps()).toEqual(earlier);
});

const logIn = (name: string) =>
  service().api.call<Session>('POST', '/sessions', { body: { url: `${site}/login`, name } });

test('a session is listed, used in the playground, and deleted', async () => {
  const { sessionId } = await logIn('Shop <b>');
  const page = await open('/sessions');
  const row = page.getByRole('row').filter({ hasText: 'Shop <b>' });
  await row
    .getByRole('cell', { name: 'in 24 hours' })
    .or(row.getByRole('cell', { name: 'tomorrow' }))
    .waitFor();
  expect(await row.getByRole('cell').nth(1).innerText()).toBe('example.com');
  await row.getByRole('link', { name: 'Use in playground' }).click();
  await page.getByLabel('Search the options').fill('session of the account');
  const field = page.getByLabel('Session', { exact: true });
  await expect.poll(() => field.inputValue()).toBe(sessionId);
  await expect.poll(() => page.getByRole('tabpanel').innerText()).toContain(`"session": "${sessionId}"`);

  await page.goBack();
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await service().api.call('GET', `/sessions/${sessionId}`);
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No sessions').waitFor();
  await expect(service().api.call('GET', `/sessions/${sessionId}`)).rejects.toThrow(/no session/);
});

test('the sessions, and the commands that create one, are accessible and fit a phone', { tags: 'long' }, async () => {
  const page = await open('/sessions');
  const command = page.getByRole('region', { name: 'Create a session with the command line' });
  await expectAllLooks(page, () => command.getByText(`WEBCAPTURE_URL=${service().url}`).waitFor());
  const { sessionId } = await logIn('Looks');
  await page.reload();
  await expectAllLooks(page, () => page.getByRole('link', { name: sessionId, exact: true }).waitFor());
  await service().api.call('DELETE', `/sessions/${sessionId}`);
});
