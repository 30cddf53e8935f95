import { expect } from 'vitest';
import { readFacts } from '../../../harness/pdf-facts.ts';
import { type Guide, servePages } from './guide.ts';

export const pdfInvoices: Guide = {
  name: 'pdf-invoices',
  promise: 'makes invoices with page numbers and merges them, and again at no cost',
  site: () => servePages({}),
  async check({ place, blocks, outputs, tokens }) {
    const short = await readFacts(await place.read('invoice-4711.pdf'));
    const long = await readFacts(await place.read('invoice-4712.pdf'));
    expect(short).toMatchObject({ info: { Title: 'Invoice 4711', Author: 'Example Ltd' } });
    expect(short.texts).toHaveLength(1);
    expect(short.texts[0]).toMatch(/Smith & Sons.*Total: 1200\.00 EUR/);
    const pages = long.texts.length;
    expect(pages).toBeGreaterThan(1);
    for (const [index, page] of long.texts.entries()) {
      expect(page).toContain('Example Ltd, 1 Example Street');
      expect(page).toContain('Price');
      expect(page).toContain(`${index + 1} / ${pages}`);
    }
    const merged = await readFacts(await place.read('invoices-2026-11.pdf'));
    expect(merged.texts).toHaveLength(pages + 1);
    expect(merged.bookmarks.map(({ title }) => title)).toEqual(['Invoice 4711', 'Invoice 4712']);
    const printed = `invoice-4711.pdf\ninvoice-4712.pdf\ninvoices-2026-11.pdf: ${pages + 1} pages\n`;
    expect(outputs).toEqual([printed]);

    expect(await tokens()).toBe(2);
    expect(await place.runBlocks(blocks)).toEqual([printed]);
    expect(await tokens()).toBe(2);
  },
};
