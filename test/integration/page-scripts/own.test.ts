/// <reference lib="dom" />
import { beforeAll, expect, test } from 'vitest';
import type { own as Own } from '../../../services/renderer/page/scripts/own.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const own: typeof Own;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

test('own reads, sets and calls the members of a form that its fields and properties shadow', async () => {
  await page.show(
    `<form id="form" title="t"><input name="id"><input name="title"><input name="getAttribute"><input name="style"></form><p id="p"></p>
     <iframe srcdoc="<form id=inner><input name=id></form>"></iframe>`,
  );
  const found = await page.read(() => {
    const form = document.querySelector('form') as HTMLFormElement;
    Object.defineProperty(form, 'localName', { value: 'other' });
    const inner = document.querySelector('iframe')?.contentDocument?.querySelector('form') as HTMLFormElement;
    own(form).title = 'new';
    own(form).style.color = 'red';
    const other = { a: 1 };
    return {
      read: [own(form).id, own(form).localName, own(inner).id],
      called: [own(form).getAttribute('title'), own(form).getAttribute('style')],
      same: [null, undefined, 5, other, document.querySelector('p')].map((value) => own(value) === value),
    };
  });
  expect(found).toEqual({
    read: ['form', 'form', 'inner'],
    called: ['new', 'color: red;'],
    same: [true, true, true, true, true],
  });
});
