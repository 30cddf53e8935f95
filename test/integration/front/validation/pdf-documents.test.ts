import { describe, expect, test } from 'vitest';
import { accepted, url, useValidation } from './use-validation.ts';

const { ask } = useValidation();
const refused = { status: 400, code: 'VALIDATION_ERROR' };
const pdf = (options: object) => ask({ url, format: 'pdf', pdf: options });

const file = { name: 'a.xml', content: '<a/>' };
const bytes = (count: number) => `data:;base64,${Buffer.alloc(count).toString('base64')}`;

test.each<[string, object]>([
  [
    'all metadata',
    { metadata: { title: 'Größe 😀', author: 'a', subject: 's', keywords: ['a b'], language: 'de-DE' } },
  ],
  ['no metadata', { metadata: {} }],
  ['50 keywords', { metadata: { keywords: Array(50).fill('k'.repeat(128)) } }],
  [
    'an attachment with all fields',
    { attachments: [{ ...file, mimeType: 'application/xml', description: 'd', relationship: 'Alternative' }] },
  ],
  ['ten attachments', { attachments: Array.from({ length: 10 }, (_, index) => ({ ...file, name: `${index}.xml` })) }],
  [
    '256 KiB of attachments',
    {
      attachments: [
        { ...file, content: bytes(131_072) },
        { name: 'b', content: bytes(131_072) },
      ],
    },
  ],
  [
    'data URLs',
    {
      attachments: [
        'data:,',
        'data:text/plain;charset=utf-8,a%20b',
        'DATA:a/b;BASE64,YWI',
        'data:;base64,YW%3D%3D',
      ].map((content, index) => ({ name: `${index}`, content })),
    },
  ],
  [
    'both passwords',
    { encryption: { userPassword: 'ü', ownerPassword: 'o', permissions: { print: false, copy: true } } },
  ],
  ['an owner password', { encryption: { ownerPassword: 'o'.repeat(127) } }],
])('%s is accepted', async (_name, options) => {
  expect(await pdf(options)).toMatchObject(accepted);
});

describe('a refusal has a message with the reason and without the password', () => {
  const password = 'hunter2';
  test.each<[object, string]>([
    [{ metadata: { title: '' } }, 'pdf.metadata.title must be a string of 1 to 512 characters'],
    [{ metadata: { title: 'a\nb' } }, 'pdf.metadata.title must have no control characters'],
    [{ metadata: { author: '\u{d800}' } }, 'pdf.metadata.author must have no control characters'],
    [
      { metadata: { tittle: 'a' } },
      'pdf.metadata.tittle is not a field of the request; did you mean pdf.metadata.title?',
    ],
    [
      { metadata: { keywords: ['a', 'b,c'] } },
      'pdf.metadata.keywords.1 must have no commas, semicolons and control characters',
    ],
    [{ metadata: { keywords: [] } }, 'pdf.metadata.keywords must be a list, not empty'],
    [
      { metadata: { language: 'deutsch!' } },
      'pdf.metadata.language must be a language tag (BCP 47) without extensions like "de-DE", not "deutsch!"',
    ],
    [{ attachments: [] }, 'pdf.attachments must be a list, not empty, of at most 10'],
    [{ attachments: Array(11).fill(file) }, 'pdf.attachments must be a list, not empty, of at most 10'],
    [{ attachments: [{ name: 'a' }] }, 'pdf.attachments.0.content is required'],
    ...['a/b', '..', 'a\\b', 'a\tb', ' a', 'a '].map((name): [object, string] => [
      { attachments: [{ ...file, name }] },
      'pdf.attachments.0.name must be a file name without slashes',
    ]),
    [{ attachments: [file, { ...file, name: 'A.XML' }] }, 'pdf.attachments.1.name must be unique, ignoring case'],
    [
      { attachments: [{ ...file, description: 'a\0' }] },
      'pdf.attachments.0.description must have no control characters',
    ],
    [
      { attachments: [{ ...file, mimeType: 'xml' }] },
      'pdf.attachments.0.mimeType must be a string like "application/xml"',
    ],
    [
      { attachments: [{ ...file, relationship: 'data' }] },
      'pdf.attachments.0.relationship must be one of Alternative, Data, Source, Supplement, Unspecified',
    ],
    ...['data:text/plain', 'data:;base64,a', 'data:;base64,a!b=', 'data:,%zz'].map((content): [object, string] => [
      { attachments: [{ ...file, content }] },
      'pdf.attachments.0.content begins with "data:" but is not a data URL',
    ]),
    [
      { attachments: [{ ...file, content: bytes(262_145) }] },
      'pdf.attachments must have at most 262144 bytes together, not 262145',
    ],
    [{ encryption: {} }, 'pdf.encryption needs pdf.encryption.userPassword or pdf.encryption.ownerPassword'],
    [{ encryption: { permissions: { print: false } } }, 'pdf.encryption needs pdf.encryption.userPassword'],
    [{ encryption: { userPassword: password, ownerPassword: password } }, 'pdf.encryption.ownerPassword must differ'],
    [
      { encryption: { userPassword: `${password}${'ü'.repeat(61)}` } },
      'pdf.encryption.userPassword must have at most 127 bytes in UTF-8',
    ],
    ...['\n', '\u{200d}', 'e\u{301}', '\u{d800}'].map((text): [object, string] => [
      { encryption: { ownerPassword: `${password}${text}` } },
      'pdf.encryption.ownerPassword must have no control or invisible characters, and the normal form NFKC',
    ]),
    [
      { encryption: { userPassword: password.repeat(20) } },
      'pdf.encryption.userPassword must be a string of 1 to 127 characters, not a string of 140 characters',
    ],
    [
      { encryption: password },
      'pdf.encryption must be an object with userPassword, ownerPassword, permissions, not a string of 7 characters',
    ],
  ])('for %j', async (options, message) => {
    const answer = await pdf(options);
    expect(answer).toMatchObject(refused);
    expect(answer.message).toContain(message);
    expect(answer.message).not.toContain(password);
  });

  test.each(['background', 'persistence'])(
    'for a password that would be stored without a key to seal it: %s',
    async (kept) => {
      const options = kept === 'background' ? { background: true } : { persistence: { enabled: true } };
      const answer = await ask({ url, format: 'pdf', pdf: { encryption: { userPassword: password } }, ...options });
      expect(answer.message).toContain(`pdf.encryption cannot be combined with ${kept} here`);
      expect(answer.message).not.toContain(password);
    },
  );

  test('for a data URL with an endless media type, without a long search', async () => {
    const startedAt = performance.now();
    const answer = await pdf({ attachments: [{ ...file, content: `data:${'a'.repeat(300_000)}` }] });
    expect(answer.message).toContain('pdf.attachments.0.content begins with "data:" but is not a data URL');
    expect(performance.now() - startedAt).toBeLessThan(2000);
  });

  test('for attachments and templates that are too large together', async () => {
    const answer = await pdf({
      attachments: [{ ...file, content: bytes(262_144) }],
      headerTemplate: 'a'.repeat(65_536),
    });
    expect(answer.message).toContain('the templates and attachments of pdf are too large together');
  });
});
