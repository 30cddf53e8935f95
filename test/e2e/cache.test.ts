import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useFleet } from '../harness/use.ts';

const fleet = useFleet({ fronts: 2, slots: 2 });
let asked = 0;
const site = createServer((_request, response) => {
  asked++;
  response.setHeader('content-type', 'text/html');
  setTimeout(() => response.end(`<h1>${asked}</h1>`), 500);
});

beforeAll(() => new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve)));
afterAll(() => void site.close());

test('equal requests at once and later, on two fronts, load the page once and are charged once', async () => {
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
  const body = { url, responseCache: { enabled: true }, viewport: { width: 300, height: 200 } };
  const { api, url: first, urls: bases } = fleet();
  const data = await Promise.all(
    Array.from({ length: 10 }, (_, n) => api.captured(body, { base: bases[n % 2] ?? first })),
  );
  expect(new Set(data.map(({ uuid }) => uuid)).size).toBe(1);
  expect(data.reduce((sum, { tokenCost }) => sum + tokenCost, 0)).toBe(1);
  const later = await api.captureWithFile(body, { base: bases[1] ?? first });
  expect(later.data).toMatchObject({ uuid: data[0]?.uuid, fromCache: true, tokenCost: 0 });
  const file = await api.capture({ ...body, responseType: 'file' });
  expect(file.bytes.equals(later.bytes)).toBe(true);
  const pages = asked;
  expect(await api.captured({ ...body, viewport: { width: 301, height: 200 } })).toMatchObject({
    fromCache: false,
  });
  // The favicon may be asked for, too, but no page a second time.
  expect(asked).toBeGreaterThan(pages);
  expect(pages).toBeLessThanOrEqual(2);
});
