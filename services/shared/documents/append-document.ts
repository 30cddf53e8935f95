import {
  PDFArray,
  PDFDict,
  type PDFDocument,
  PDFHexString,
  PDFName,
  type PDFObject,
  PDFObjectCopier,
  PDFRef,
  PDFString,
} from '@cantoo/pdf-lib';
import type { Bookmark } from './outline.ts';
import { entryOf, setEntry } from './pdf-library.ts';

/**
 * Appends the pages of a document to another one. Links within the document lead to the copies of its pages. Tags and attachments are left
 * out.
 *
 * @returns the top of the first page, and the bookmarks of the document, as objects of `target`
 */
export function appendDocument(
  target: PDFDocument,
  source: PDFDocument,
): { readonly start: PDFArray; readonly bookmarks: readonly Bookmark[] } {
  const pages = source.getPages();
  const [first] = pages;
  if (first === undefined) throw new Error('the document has no pages');
  const destinations = new Destinations(source, new Set(pages.map(({ ref }) => ref)));
  for (const { node } of pages) {
    // The entry is removed because it refers to the structure tree, which is not copied.
    setEntry(node, 'StructParents', undefined);
    for (const annotation of node.Annots()?.asArray() ?? []) {
      const link = source.context.lookup(annotation);
      if (link instanceof PDFDict) resolveLink(link, destinations);
    }
  }
  const outline = outlineOf(source, destinations);
  const { y, height } = first.getMediaBox();
  const start = source.context.obj([first.ref, 'XYZ', null, y + height, null]);
  const copier = PDFObjectCopier.for(source.context, target.context);
  const tree = target.catalog.Pages();
  for (const { ref } of pages) {
    // The page is copied by its reference, so that destinations lead to the same copy.
    const copy = copier.copy(ref);
    setEntry(target.context.lookup(copy, PDFDict), 'Parent', target.catalog.get(PDFName.of('Pages')));
    tree.pushLeafNode(copy);
  }
  const copyOf = ({ title, destination, children }: Bookmark): Bookmark => ({
    title,
    destination: destination && copier.copy(destination),
    children: children.map(copyOf),
  });
  return { start: copier.copy(start), bookmarks: outline.map(copyOf) };
}

/**
 * Finds the places to which links and bookmarks lead. Chromium writes names for these places, and other documents may use the same names.
 */
class Destinations {
  readonly #source: PDFDocument;
  readonly #pages: ReadonlySet<PDFRef>;

  constructor(source: PDFDocument, pages: ReadonlySet<PDFRef>) {
    this.#source = source;
    this.#pages = pages;
  }

  /** Returns a place on a page; undefined if there is none. */
  find(value: PDFObject | undefined): PDFArray | undefined {
    const { context, catalog } = this.#source;
    const given = context.lookup(value);
    const names = entryOf(catalog, 'Dests');
    const named = given instanceof PDFName && names instanceof PDFDict ? names.lookup(given) : given;
    const place = named instanceof PDFDict ? entryOf(named, 'D') : named;
    if (!(place instanceof PDFArray) || place.size() === 0) return undefined;
    const page = place.get(0);
    return page instanceof PDFRef && this.#pages.has(page) ? place : undefined;
  }
}

/** Replaces the name of a destination by its place. */
function resolveLink(link: PDFDict, destinations: Destinations): void {
  setEntry(link, 'StructParent', undefined);
  setEntry(link, 'Dest', destinations.find(entryOf(link, 'Dest')));
  const action = entryOf(link, 'A');
  if (action instanceof PDFDict && entryOf(action, 'S') === PDFName.of('GoTo')) {
    setEntry(action, 'D', destinations.find(entryOf(action, 'D')));
  }
}

function outlineOf({ catalog }: PDFDocument, destinations: Destinations): readonly Bookmark[] {
  const seen = new Set<PDFDict>();
  const childrenOf = (parent: PDFDict): Bookmark[] => {
    const bookmarks: Bookmark[] = [];
    let item = entryOf(parent, 'First');
    // The outline of a hostile document may contain itself.
    while (item instanceof PDFDict && !seen.has(item)) {
      seen.add(item);
      const title = entryOf(item, 'Title');
      const action = entryOf(item, 'A');
      bookmarks.push({
        title: title instanceof PDFString || title instanceof PDFHexString ? title.decodeText() : '',
        destination: destinations.find(action instanceof PDFDict ? entryOf(action, 'D') : entryOf(item, 'Dest')),
        children: childrenOf(item),
      });
      item = entryOf(item, 'Next');
    }
    return bookmarks;
  };
  const outline = entryOf(catalog, 'Outlines');
  return outline instanceof PDFDict ? childrenOf(outline) : [];
}
