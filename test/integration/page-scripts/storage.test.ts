// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, expect, test } from 'vitest';
import { fillStorage, readStorage } from '../../../services/renderer/page/scripts/storage.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

const origin = 'http://page.test';

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

/** Shows a document whose storage has only these items. */
async function showWith(local: Readonly<Record<string, string>>, session: Readonly<Record<string, string>> = {}) {
  await page.show('<p>text</p>');
  await page.call(
    (kinds) => {
      for (const [storage, items] of [[localStorage, kinds.local] as const, [sessionStorage, kinds.session] as const]) {
        storage.clear();
        for (const [name, value] of Object.entries(items)) storage.setItem(name, value);
      }
    },
    [{ local, session }],
  );
}
const read = (maxLength = 1000) => page.call(readStorage, [maxLength]);
const fill = (origins: Parameters<typeof fillStorage>[0]) => page.call(fillStorage, [origins]);
const item = (name: string, value: string) => ({ name, value });

test('both storages of the origin are read', async () => {
  await showWith({ token: 'a' }, { step: 'b' });
  expect(await read()).toEqual({ origin, localStorage: [item('token', 'a')], sessionStorage: [item('step', 'b')] });
});

test('items beyond the maximum length are left out, and the first that exceeds it is cut', async () => {
  await showWith({ token: 'abcdefgh' }, { step: 'b' });
  expect(await read(5)).toEqual({ origin, localStorage: [item('token', 'abcde')], sessionStorage: [] });
  expect((await read(13))?.sessionStorage).toEqual([item('step', 'b')]);
  expect((await read(12))?.sessionStorage).toEqual([]);
});

test('null is returned for a document without storage', async () => {
  await page.page.goto('data:text/html,<p>text');
  expect(await page.page.evaluate(readStorage, 1000)).toBeNull();
});

test('only the storage of the own origin is filled', async () => {
  await showWith({});
  await fill([
    { origin: 'http://other.test', localStorage: [item('token', 'other')], sessionStorage: [] },
    { origin, localStorage: [item('token', 'a')], sessionStorage: [item('step', 'b')] },
  ]);
  expect(await read()).toEqual({ origin, localStorage: [item('token', 'a')], sessionStorage: [item('step', 'b')] });
});

test('a storage in which the page has stored something is not filled, and the other one is', async () => {
  await showWith({ token: 'new' });
  await fill([
    { origin, localStorage: [item('token', 'old'), item('more', 'c')], sessionStorage: [item('step', 'b')] },
  ]);
  expect(await read()).toEqual({ origin, localStorage: [item('token', 'new')], sessionStorage: [item('step', 'b')] });
});
