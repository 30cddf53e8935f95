import { expect, test } from 'vitest';
import type { PdfEncryption } from '@webcapture/shared/api/document-options.ts';
import { type ShotOptions } from '../harness/engine.ts';
import { readFacts } from '../harness/pdf-facts.ts';
import { isOwnerPassword } from '../harness/pdf-passwords.ts';
import { corpusEngine } from './corpus.ts';

const body = `<h1>One</h1><p>Text and <a href="https://example.com/terms">terms</a></p>
  <h2 style="break-before:page">Two</h2><table><tr><th>a<th>b<tr><td>1<td>2</table>`;
const page = `<!DOCTYPE html><html lang="fr"><title>Title of the page</title>${body}`;

const whole = {
  tags: expect.arrayContaining(['H1', 'H2', 'Link', 'Table']),
  texts: expect.arrayContaining([expect.stringContaining('Text and')]),
  links: ['https://example.com/terms'],
  bookmarks: [
    { title: 'One', page: 0 },
    { title: 'Two', page: 1 },
  ],
};

/** Prints the page, with tags and bookmarks, with the shared engine of the worker. */
async function print(
  pdf: NonNullable<ShotOptions['pdf']>,
  { source = page, pdfEncryption }: { source?: string; pdfEncryption?: PdfEncryption } = {},
) {
  const engine = await corpusEngine();
  const options = { format: 'pdf', pdf: { outline: true, ...pdf } } as const;
  const { bytes } = await engine.render(
    { kind: 'html', html: source },
    options,
    pdfEncryption && { secrets: { pdfEncryption } },
  );
  return bytes;
}

test('a PDF gets metadata in both its information dictionary and its XMP packet, and keeps tags, links and bookmarks', async () => {
  const metadata = {
    title: 'Größe <b> & 😀',
    author: 'Ann',
    subject: 'Terms',
    keywords: ['a b', 'ü'],
    language: 'de-DE',
  };
  const facts = await readFacts(await print({ metadata }));
  expect(facts).toMatchObject(whole);
  expect(facts).toMatchObject({ language: 'de-DE', showsTitle: true });
  expect(facts.info).toMatchObject({ Title: metadata.title, Author: 'Ann', Subject: 'Terms', Keywords: 'a b, ü' });
  expect(facts.xmp).toMatchObject({
    'dc:title': metadata.title,
    'dc:creator': ['Ann'],
    'dc:description': 'Terms',
    'dc:subject': ['a b', 'ü'],
    'dc:language': 'de-DE',
    'pdf:keywords': 'a b, ü',
    'pdf:producer': facts.info['Producer'],
    'xmp:creatortool': facts.info['Creator'],
  });
});

test('title and language of the page stay if the request sets none, also a title that contains XML', async () => {
  // XML has no U+FFFF.
  const source = page.replace('Title of the page', '</rdf:li>&lt;/rdf:RDF> \u{FFFF} ]]>');
  const bytes = await print({ metadata: { author: 'Ann' } }, { source });
  // XML does not allow ]]> in text.
  expect(bytes.toString()).toContain('&lt;/rdf:li&gt;&lt;/rdf:RDF&gt; \u{FFFD} ]]&gt;');
  const facts = await readFacts(bytes);
  expect(facts).toMatchObject({
    language: 'fr',
    info: { Author: 'Ann', Title: expect.stringContaining('</rdf:RDF>') },
  });
  expect(facts.xmp?.['dc:title']).toBe('</rdf:li></rdf:RDF> \u{FFFD} ]]>');
});

test('files are attached under their names, and associated with the document', async () => {
  const content = (text: string) => Buffer.from(text).toString('base64');
  const bytes = await print({
    attachments: [
      {
        name: 'z) (\u{e9}.xml',
        content: content('<invoice/>'),
        mimeType: 'application/xml',
        description: 'Invoice (1',
        relationship: 'Alternative',
      },
      { name: 'a.txt', content: content('ü'), mimeType: 'text/plain', relationship: 'Data' },
    ],
  });
  const facts = await readFacts(bytes);
  expect(facts).toMatchObject(whole);
  expect(facts.attachments).toEqual([
    { name: 'a.txt', description: '', text: 'ü' },
    { name: 'z) (\u{e9}.xml', description: 'Invoice (1', text: '<invoice/>' },
  ]);
  const text = bytes.toString('latin1');
  expect(text).toMatch(/^%PDF-1\.7/);
  expect(text).toMatch(/\/AF \[ \d+ 0 R \d+ 0 R \]/);
  expect(text).toMatch(/\/AFRelationship \/Alternative/);
  expect(text).toMatch(/\/Subtype \/application#2Fxml/);
  expect(text).toMatch(/\/Params <<\s*\/Size 10\s/);
  expect(text).toMatch(/\/EF <<\s*\/F \d+ 0 R\s*\/UF \d+ 0 R/);
});

test('an encrypted PDF opens only with its passwords, and keeps tags, links, bookmarks, metadata and attachments', async () => {
  const pdfEncryption = { userPassword: 'üser', ownerPassword: 'owner', permissions: { copy: false, print: false } };
  const attachments = [{ name: 'a.txt', content: 'aGk=', mimeType: 'text/plain', relationship: 'Data' } as const];
  const bytes = await print({ metadata: { title: 'A title', language: 'de-DE' }, attachments }, { pdfEncryption });
  await expect(readFacts(bytes)).rejects.toThrow('No password given');
  await expect(readFacts(bytes, 'wrong')).rejects.toThrow('Incorrect Password');
  for (const password of ['üser', 'owner']) {
    const facts = await readFacts(bytes, password);
    expect(facts).toMatchObject({
      ...whole,
      language: 'de-DE',
      info: { Title: 'A title' },
      xmp: { 'dc:title': 'A title' },
    });
    expect(facts.attachments).toEqual([{ name: 'a.txt', description: '', text: 'hi' }]);
    // The bits of print and copy (4, 16, 2048) are missing. The others are change, annotate, fill in, read aloud, assemble.
    expect(facts.permissions).toEqual([8, 32, 256, 512, 1024]);
  }
  expect(isOwnerPassword(bytes, 'owner')).toBe(true);
  expect(isOwnerPassword(bytes, 'üser')).toBe(false);
  const text = bytes.toString('latin1');
  expect(text).toMatch(/^%PDF-1\.7/);
  expect(text).toMatch(/\/CFM \/AESV3/);
  // The last two values are hexadecimal: a file name and a date.
  for (const clear of ['example.com', 'A title', 'a.txt', 'Skia', 'de-DE', 'owner', '0061002E', '0044003A'])
    expect(text).not.toContain(clear);
});

test('without a user password an encrypted PDF opens without one, and the permissions apply', async () => {
  const bytes = await print(
    {},
    { pdfEncryption: { ownerPassword: 'owner', permissions: { modify: false, annotate: false } } },
  );
  const facts = await readFacts(bytes);
  expect(facts).toMatchObject({ ...whole, info: { Title: 'Title of the page' }, language: 'fr' });
  expect(facts.permissions).toEqual([4, 16, 512, 2048]);
});

test('without an owner password, the user password does not lift the permissions', async () => {
  const bytes = await print({}, { pdfEncryption: { userPassword: 'user', permissions: { print: false } } });
  expect((await readFacts(bytes, 'user')).permissions).toEqual([8, 16, 32, 256, 512, 1024]);
  expect(isOwnerPassword(bytes, 'user')).toBe(false);
  expect(isOwnerPassword(bytes, '')).toBe(false);
});
