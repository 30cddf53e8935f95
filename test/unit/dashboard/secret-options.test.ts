import { afterEach, expect, test, vi } from 'vitest';
import { captureRequestSchema } from '../../../services/shared/api/capture-request.ts';
import type { JsonSchema } from '../../../services/shared/api/describe-schema.ts';
import { keepPreset, presets } from '../../../services/dashboard/pages/playground/request.ts';
import { optionsWithoutLink } from '../../../services/dashboard/pages/playground/signed-link.ts';

const schema = captureRequestSchema as unknown as JsonSchema;
const url = 'https://example.com/';

afterEach(() => vi.unstubAllGlobals());

test('a preset keeps no secret, also none inside of another option', () => {
  const stored = new Map<string, string>();
  vi.stubGlobal('localStorage', { setItem: (name: string, value: string) => stored.set(name, value) });
  const encryption = { userPassword: 'hunter2' };
  const pdf = { metadata: { title: 'A title' }, margin: { top: '1cm' }, attachments: [{ name: 'a', content: 'b' }] };
  keepPreset('mine', { url, css: 'hunter2', hide: ['.a'], pdf: { ...pdf, encryption } }, schema);
  expect(presets.value).toEqual([{ name: 'mine', body: { url, hide: ['.a'], pdf } }]);
  expect([...stored.values()].join('')).not.toContain('hunter2');
  // Of a request that is being written, the service has not checked anything.
  keepPreset('mine', { url, pdf: null }, schema);
  expect(presets.value).toEqual([{ name: 'mine', body: { url, pdf: null } }]);
});

test.each<[object, readonly string[]]>([
  [{ url, format: 'pdf', pdf: { outline: true, metadata: { title: 'a' } } }, []],
  [{ html: 'a', pdf: { encryption: { userPassword: 'a' } } }, ['html', 'pdf.encryption']],
  [{ url, auth: {}, encryption: {}, pdf: 'encryption' }, ['auth']],
])('the options of %j that no link has are %j', (request, names) => {
  expect(optionsWithoutLink({ ...request })).toEqual(names);
});
