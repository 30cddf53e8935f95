import { expect, test } from 'vitest';
import { captureRequestSchema } from '../../../services/shared/api/capture-request.ts';
import type { JsonSchema } from '../../../services/shared/api/describe-schema.ts';
import { optionsWithoutLink } from '../../../services/shared/api/link-refusals.ts';
import { linkRefusals } from '../../../services/shared/api/option-table.ts';
import { withoutSecrets } from '../../../services/dashboard/pages/playground/schema.ts';

const schema = captureRequestSchema as unknown as JsonSchema;
const url = 'https://example.com/';
const pdf = { metadata: { title: 'A title' }, margin: { top: '1cm' }, attachments: [{ name: 'a', content: 'b' }] };

test.each<[object, object]>([
  [
    { url, css: 'a', hide: ['.a'], auth: { username: 'a' } },
    { url, hide: ['.a'] },
  ],
  [{ pdf: { ...pdf, encryption: { userPassword: 'a' } } }, { pdf }],
  [
    { steps: [{ type: { selector: '#a', text: 'b' } }, { select: { selector: '#c', value: 'd' } }, { click: '#e' }] },
    { steps: [{ type: { selector: '#a' } }, { select: { selector: '#c' } }, { click: '#e' }] },
  ],
  // A request that is being edited has not been validated by the service.
  [{ steps: [null, 'a', { type: 'b' }] }, { steps: [null, 'a', { type: 'b' }] }],
  [
    { pdf: null, viewport: 'a', block: 1 },
    { pdf: null, viewport: 'a', block: 1 },
  ],
])('a preset of %j contains %j', (request, kept) => {
  expect(withoutSecrets({ ...request }, schema)).toEqual(kept);
});

test.each<[object, readonly string[]]>([
  [{ url, format: 'pdf', pdf: { outline: true, metadata: { title: 'a' } } }, []],
  [{ html: 'a', pdf: { encryption: { userPassword: 'a' } } }, ['html', 'pdf.encryption']],
  [{ url, auth: {}, encryption: {}, pdf: 'encryption' }, ['auth']],
  [{ url, steps: [{ click: '#a' }, { press: { key: 'Enter' } }] }, []],
  [{ url, steps: [{ click: '#a' }, { type: { selector: '#b', text: 'c' } }] }, ['steps.type']],
])('the options of %j that a link cannot contain are %j', (request, names) => {
  expect(optionsWithoutLink({ ...request }, [...linkRefusals.keys()])).toEqual(names);
});
