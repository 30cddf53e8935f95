// @module-tag long
import { expect, test } from 'vitest';
import { useDashboard } from '../../harness/dashboard.ts';
import { site, useService } from './service.ts';

const service = useService();
const openDashboard = useDashboard(service);

test('ten thousand captures scroll to the last one with a few dozen rows', async () => {
  const { api } = service();
  // The list requests no thumbnail of a PDF.
  const { uuid, ...template } = await api.captured({ url: `${site}/many`, format: 'pdf' });
  const ids = Array.from({ length: 10_000 }, (_, index) => `${uuid.slice(0, -5)}${String(99_999 - index)}`);
  const page = await openDashboard({ key: service().key, route: '#/usage' });
  await page.evaluate(
    ({ ids, template }) => {
      const plainFetch = window.fetch;
      window.fetch = async (input, init) => {
        const url = new URL(input instanceof Request ? input.url : String(input), location.href);
        if (url.pathname !== '/captures') return plainFetch(input, init);
        const cursor = url.searchParams.get('cursor');
        const start = cursor === null ? 0 : ids.indexOf(cursor) + 1;
        const items = ids.slice(start, start + 100).map((id) => ({ ...template, uuid: id }));
        const data = { items, nextCursor: start + 100 < ids.length ? items.at(-1)?.uuid : null };
        return Response.json({ success: true, error: null, data });
      };
    },
    { ids, template },
  );
  await page.getByRole('link', { name: 'Captures', exact: true }).click();
  await page.locator('.capture-row').first().waitFor();
  const most = await page.evaluate(async () => {
    let mostRows = 0;
    while (document.querySelector('.list-end')?.textContent !== 'Showing all 10,000 captures.') {
      scrollTo(0, document.body.scrollHeight);
      await new Promise((resolve) => requestAnimationFrame(resolve));
      mostRows = Math.max(mostRows, document.querySelectorAll('.capture-row').length);
    }
    return mostRows;
  });
  expect(most).toBeLessThan(60);
  expect(await page.locator('.capture-row').count()).toBeLessThan(60);
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.locator(`a[href$="${ids.at(-1)}"]`).click();
  await page.getByText('This account has no capture of that uuid.').waitFor();
  await page.goBack();
  await page.locator(`a[href$="${ids.at(-1)}"]`).waitFor();
});
