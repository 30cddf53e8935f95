import { PDFDocument, PDFName, PDFString } from '@cantoo/pdf-lib';

/**
 * Returns a PDF with one page for each text, and with structures that Chromium writes. It has a bookmark "first" with a bookmark "last"
 * below it, and a link from the first page to the last one. Both use names of destinations. It also has a tag for the first page.
 */
export async function makePdf(texts: readonly string[]): Promise<Buffer> {
  const document = await PDFDocument.create({ updateMetadata: false });
  const { context, catalog } = document;
  const name = (text: string) => PDFName.of(text);
  const pages = texts.map((text) => {
    const page = document.addPage([200, 300]);
    page.drawText(text, { x: 20, y: 200, size: 12 });
    return page;
  });
  const [first, last] = [pages[0], pages.at(-1)];
  if (first === undefined || last === undefined) throw new TypeError('a PDF needs a page');
  const place = (page: typeof first) => context.obj([page.ref, 'XYZ', 0, 300, 0]);
  catalog.set(name('Dests'), context.obj({ first: place(first), last: place(last) }));

  const [outline, parent, child] = [context.nextRef(), context.nextRef(), context.nextRef()];
  context.assign(outline, context.obj({ First: parent, Last: parent, Count: 2 }));
  const links = { Parent: outline, First: child, Last: child, Count: 1, Dest: 'first' };
  context.assign(parent, context.obj({ Title: PDFString.of('first'), ...links }));
  context.assign(child, context.obj({ Title: PDFString.of('last'), Parent: parent, Dest: 'last' }));
  catalog.set(name('Outlines'), outline);

  const link = { Type: 'Annot', Subtype: 'Link', Rect: [0, 0, 50, 50], Dest: 'last', StructParent: 1 };
  first.node.set(name('Annots'), context.obj([context.register(context.obj(link))]));
  first.node.set(name('StructParents'), context.obj(0));
  const root = context.nextRef();
  const tag = context.register(context.obj({ Type: 'StructElem', S: 'H1', P: root, Pg: first.ref, K: 0 }));
  context.assign(root, context.obj({ Type: 'StructTreeRoot', K: tag, ParentTree: { Nums: [0, [tag]] } }));
  catalog.set(name('StructTreeRoot'), root);
  return Buffer.from(await document.save({ useObjectStreams: false, addDefaultPage: false }));
}
