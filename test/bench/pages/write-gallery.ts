import { writeFile } from 'node:fs/promises';
import type { Rendering } from '../../../services/renderer/page/engine.ts';

/** The result of one page in one kind of capture. */
export interface Shown {
  readonly page: string;
  readonly kind: 'desktop' | 'mobile' | 'A4';
  readonly failure?: string;
  readonly file?: string;
  /** In CSS pixels; of a PDF the height of its first page. */
  readonly height?: number;
  readonly ms?: number;
  readonly report?: Rendering['report'];
  /** The picture that a person sees while scrolling slowly. */
  readonly reference?: string;
  readonly seenHeight?: number;
  /** The share of pixels that differ, from 0 to 1. */
  readonly difference?: number;
}

const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** Writes a document with all pages, those with the largest difference first, each capture next to its reference. */
export async function writeGallery(path: string, shown: readonly Shown[]): Promise<void> {
  const sorted = shown.toSorted((a, b) => (b.difference ?? 0) - (a.difference ?? 0));
  const rows = sorted.map(({ page, kind, failure, file, height, ms, report, reference, seenHeight, difference }) => {
    const facts =
      failure ??
      `${report?.strategy}, ${height} px (seen ${seenHeight ?? '-'}), ${ms} ms, differs ${((difference ?? 0) * 100).toFixed(1)} %`;
    const view = (name: string | undefined) => {
      if (name === undefined) return '';
      const source = escape(encodeURI(name));
      return name.endsWith('.pdf')
        ? `<embed src="${source}" width="600" height="800">`
        : `<a href="${source}"><img loading="lazy" src="${source}" width="600" alt=""></a>`;
    };
    return `<section><h2>${escape(page)}, ${kind}</h2><p>${escape(facts)}</p><div>${view(file)}${view(reference)}</div></section>`;
  });
  const style =
    'body{font:14px sans-serif}div{display:flex;gap:10px;align-items:flex-start;max-height:900px;overflow:auto;background:#ddd}';
  await writeFile(
    path,
    `<!doctype html><meta charset="utf-8"><title>Real pages</title><style>${style}</style>${rows.join('\n')}\n`,
  );
}
