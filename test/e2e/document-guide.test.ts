// @module-tag long
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { qpdfCheck } from '../harness/qpdf.ts';
import { useFleet } from '../harness/use.ts';

const fleet = useFleet({ slots: 1, env: { WEBCAPTURE_SECRETS_KEY: 'the-key-of-this-fleet-of-32-or-more-characters' } });

const guide = readFileSync(new URL('../../docs/documents.md', import.meta.url), 'utf8');

/** Returns the HTML of a file in the guide, with the options that follow it. */
function exampleOf(name: string): object {
  const at = guide.indexOf(`<!-- ${name} -->`);
  const blockAfter = (begin: number, language: string) => {
    const from = guide.indexOf(`\`\`\`${language}\n`, begin) + language.length + 4;
    return guide.slice(from, guide.indexOf('\n```', from));
  };
  return { html: guide.slice(at, guide.indexOf('\n```', at)), ...(JSON.parse(blockAfter(at, 'json')) as object) };
}

test('the invoice has its header, its footer and whole rows on each page', async () => {
  const { data, pdf } = await fleet().api.pdf(exampleOf('invoice.html'));
  expect(pdf.pages.length).toBeGreaterThan(1);
  expect(data.metadata).toMatchObject({ pages: pdf.pages.length });
  for (const { text, pieces } of pdf.pages) {
    expect(text).toContain('IBAN');
    expect(text).toContain('Quantity');
    // The table and the total end above the footer.
    const footer = pieces.find((piece) => piece.text.includes('IBAN'))?.y ?? 0;
    expect(pieces.filter(({ text: other, y }) => y > footer - 10 && !/Bank|IBAN|VAT|·/.test(other))).toEqual([]);
  }
  expect(pdf.pages.at(-1)?.text).toContain('Total: 1,830.00 EUR');
  expect(pdf.text.match(/Item \d+/g)).toHaveLength(60);
});

test('the letter has its letterhead once, and wide margins from the second page on', async () => {
  const { pdf } = await fleet().api.pdf(exampleOf('letter.html'));
  expect(pdf.pages.length).toBeGreaterThan(1);
  const tops = pdf.pages.map(({ pieces }) => Math.min(...pieces.map(({ y }) => y)));
  const millimeter = 72 / 25.4;
  expect(tops[0]).toBeLessThan(25 * millimeter);
  for (const top of tops.slice(1)) expect(top).toBeGreaterThan(25 * millimeter);
  expect(pdf.text.match(/Example Ltd/g)).toHaveLength(1);
  expect(pdf.pages.at(-1)?.text).toContain('Yours sincerely');
});

test('the report of about 300 pages has page numbers, bookmarks and all of its chapters', async () => {
  const { pdf } = await fleet().api.pdf(exampleOf('report.html'));
  expect(pdf.pages.length).toBeGreaterThanOrEqual(200);
  expect(pdf.outline.filter((title) => /^Chapter \d+$/.test(title))).toHaveLength(100);
  for (const [index, { text }] of pdf.pages.entries()) {
    expect(text).toMatch(new RegExp(`${index + 1} / ${pdf.pages.length}`));
  }
});

test('qpdf finds no error in documents with tags, attachments and passwords, and in merged ones', async () => {
  const valid = /No syntax or stream encoding errors found/;
  const { api, key } = fleet();
  const letter = exampleOf('letter.html') as { pdf?: object };
  const pdfOf = async (options: object) => {
    const { fileUrl } = await api.captured({ ...letter, format: 'pdf', pdf: { ...letter.pdf, ...options } });
    return Buffer.from(await (await fetch(fileUrl)).arrayBuffer());
  };
  const attachments = [
    { name: 'invoice.xml', content: '<invoice/>', mimeType: 'text/xml', relationship: 'Alternative' },
  ];
  expect(await qpdfCheck(await pdfOf({ metadata: { title: 'Letter', language: 'en' }, attachments }))).toMatch(valid);
  const encrypted = await pdfOf({ encryption: { userPassword: 'reader', ownerPassword: 'owner' } });
  expect(await qpdfCheck(encrypted)).toMatch(/invalid password/);
  expect(await qpdfCheck(encrypted, { password: 'reader' })).toMatch(valid);
  // This shows that qpdf finds errors.
  expect(await qpdfCheck(encrypted.subarray(0, -200), { password: 'reader' })).not.toMatch(valid);

  const documents = [{ request: letter }, { request: { html: '<h1>Annex</h1><a href="#end">end</a><p id="end">' } }];
  const merged = await api.request('/pdf/merge', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ documents, encryption: { userPassword: 'reader' } }),
  });
  expect(merged.status).toBe(200);
  expect(await qpdfCheck(Buffer.from(await merged.arrayBuffer()), { password: 'reader' })).toMatch(valid);
});
