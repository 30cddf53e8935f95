import {
  type PDFArray,
  type PDFContext,
  type PDFDict,
  type PDFDocument,
  PDFHexString,
  type PDFRef,
} from '@cantoo/pdf-lib';
import { setEntry } from './pdf-library.ts';

export interface Bookmark {
  readonly title: string;
  /** Place on a page of the document. */
  readonly destination: PDFArray | undefined;
  readonly children: readonly Bookmark[];
}

/** Sets the outline of a document. Viewers show its first level, whose bookmarks are closed. */
export function setOutline({ context, catalog }: PDFDocument, bookmarks: readonly Bookmark[]): void {
  const outline = context.obj({ Type: 'Outlines', Count: bookmarks.length });
  const ref = context.register(outline);
  addLevel(context, { parent: outline, parentRef: ref, bookmarks });
  setEntry(catalog, 'Outlines', ref);
}

interface Level {
  readonly parent: PDFDict;
  readonly parentRef: PDFRef;
  readonly bookmarks: readonly Bookmark[];
}

function addLevel(context: PDFContext, { parent, parentRef, bookmarks }: Level): void {
  const items = bookmarks.map((bookmark) => {
    const dict = context.obj({});
    return { bookmark, dict, ref: context.register(dict) };
  });
  for (const [index, { bookmark, dict, ref }] of items.entries()) {
    const { title, destination, children } = bookmark;
    setEntry(dict, 'Title', PDFHexString.fromText(title));
    setEntry(dict, 'Parent', parentRef);
    setEntry(dict, 'Prev', items[index - 1]?.ref);
    setEntry(dict, 'Next', items[index + 1]?.ref);
    setEntry(dict, 'Dest', destination);
    addLevel(context, { parent: dict, parentRef: ref, bookmarks: children });
    // A negative count means that the bookmark is closed.
    if (children.length > 0) setEntry(dict, 'Count', context.obj(-children.length));
  }
  setEntry(parent, 'First', items[0]?.ref);
  setEntry(parent, 'Last', items.at(-1)?.ref);
}
