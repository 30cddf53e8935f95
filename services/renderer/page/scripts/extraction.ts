/// <reference lib="dom" />
import type { Extracted } from '@webcapture/shared/api/extracted.ts';
import type { ExtractName } from '@webcapture/shared/api/formats.ts';
import type { writeMarkdown as WriteMarkdown } from './markdown.ts';
import type { matchesIn as MatchesIn, openRoots as OpenRoots } from './selecting.ts';
import type {
  readerOf as ReaderOf,
  TextWriter,
  walkPage as WalkPage,
  withoutControls as WithoutControls,
  writeText as WriteText,
} from './walking.ts';

/** Functions that the caller sends to the page together with the functions of this file. */
declare const matchesIn: typeof MatchesIn;
declare const openRoots: typeof OpenRoots;
declare const readerOf: typeof ReaderOf;
declare const walkPage: typeof WalkPage;
declare const withoutControls: typeof WithoutControls;
declare const writeText: typeof WriteText;
declare const writeMarkdown: typeof WriteMarkdown;

export interface ExtractLimits {
  /** Maximum size of each part in UTF-8. */
  readonly maxBytes: number;
  /** Time limit of reading. Content that is not read within it is left out. */
  readonly maxMs: number;
  /** URLs with this prefix are omitted, because supplied HTML has no URL. */
  readonly noUrl: string;
}

/**
 * Extracts parts of the document in its current state. No script of the page runs meanwhile. Two things have no effect on the result:
 * changes of scripts to built-in objects, and named elements that shadow properties of the document and of forms.
 */
export function extractParts(names: readonly ExtractName[], { maxBytes, maxMs, noUrl }: ExtractLimits): Extracted {
  const maxUrlLength = 8192;
  const maxLinkText = 256;
  /** Maximum number of nodes that are read for the text of a link. */
  const maxLinkNodes = 200;
  const maxMetaLength = 2000;
  const maxProperties = 100;
  const maxIcons = 50;
  const end = performance.now() + maxMs;
  const documentElement = readerOf<Element | null>(Document, 'documentElement')(document);
  const attributeOf = (element: Element, name: string) => Element.prototype.getAttribute.call(element, name);
  const findAll = (selector: string) => Document.prototype.querySelectorAll.call(document, selector);
  const localName = readerOf<string>(Element, 'localName');
  const isText = (node: Node) => readerOf<number>(Node, 'nodeType')(node) === Node.TEXT_NODE;
  const encoder = new TextEncoder();
  const truncated = new Set<ExtractName>();

  const cut = (name: ExtractName, whole: string) => {
    const text = withoutControls(whole.slice(0, maxBytes + 1));
    const { read } = encoder.encodeInto(text, new Uint8Array(maxBytes));
    if (read < text.length || whole.length > maxBytes) truncated.add(name);
    return text.slice(0, read);
  };
  const shorten = (text: string, most: number) =>
    [
      ...withoutControls(text.slice(0, 2 * most))
        .replaceAll(/\s+/g, ' ')
        .trim(),
    ]
      .slice(0, most)
      .join('');
  /** Returns the URL if it may be reported; otherwise null. */
  const publicUrl = (url: string, schemes: RegExp) =>
    url.length <= maxUrlLength && schemes.test(url) && !url.startsWith(noUrl) ? withoutControls(url) : null;
  const web = /^https?:/;
  const followed = /^(?:https?|mailto|tel):/;
  const hrefOf = {
    a: readerOf<string>(HTMLAnchorElement, 'href'),
    area: readerOf<string>(HTMLAreaElement, 'href'),
    link: readerOf<string>(HTMLLinkElement, 'href'),
    img: readerOf<string>(HTMLImageElement, 'src'),
  };
  const isOwn = (element: Element) => element instanceof HTMLElement;
  const urlOf = (element: Element) => {
    if (!isOwn(element)) return null;
    const tag = localName(element);
    if (tag === 'a') return publicUrl(hrefOf.a(element), followed);
    if (tag === 'area') return publicUrl(hrefOf.area(element), followed);
    return tag === 'img' ? publicUrl(hrefOf.img(element), web) : null;
  };
  const inMarkdown = (element: Element) =>
    urlOf(element)?.replaceAll(/[()<>|\\ ]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`) ?? null;

  const read = (writers: Partial<Record<'text' | 'markdown', TextWriter>>) => {
    const isWhole = walkPage(Object.values(writers), end);
    const written: Extracted = {};
    for (const name of ['text', 'markdown'] as const) {
      const writer = writers[name];
      if (writer === undefined) continue;
      if (!isWhole) truncated.add(name);
      written[name] = cut(name, writer.written());
    }
    return written;
  };
  /** Returns the element as HTML. `outerHTML` leaves shadow roots out, and `getHTML` the element itself. */
  const htmlOf = (root: Element) => {
    const outerHtml = readerOf<string>(Element, 'outerHTML');
    const shadowRoots = openRoots(document).slice(1) as ShadowRoot[];
    if (shadowRoots.length === 0) return outerHtml(root);
    const tags = outerHtml(Node.prototype.cloneNode.call(root));
    const end = tags.lastIndexOf('</');
    return `${tags.slice(0, end)}${Element.prototype.getHTML.call(root, { shadowRoots })}${tags.slice(end)}`;
  };
  const readHtml = () => {
    const doctype = readerOf<DocumentType | null>(Document, 'doctype')(document);
    const head = doctype === null ? '' : new XMLSerializer().serializeToString(doctype);
    const html = documentElement === null ? '' : htmlOf(documentElement);
    return cut('html', `${head}${head === '' ? '' : '\n'}${html}`);
  };

  /** Returns the text of a link's text nodes and images at any depth. */
  const textOf = (link: Element) => {
    const silent = new Set(['script', 'style', 'svg', 'template', 'noscript']);
    const nodes = Document.prototype.createTreeWalker.call(
      document,
      link,
      NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT,
      (node) => (!isText(node) && silent.has(localName(node)) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT),
    );
    const dataOf = readerOf<string>(CharacterData, 'data');
    let text = '';
    for (let looked = 0; looked < maxLinkNodes && text.length < 4 * maxLinkText; looked += 1) {
      const node = nodes.nextNode();
      if (node === null) break;
      if (isText(node)) text += dataOf(node);
      else if (localName(node) === 'img') text += ` ${attributeOf(node as Element, 'alt') ?? ''} `;
    }
    const label = () => attributeOf(link, 'aria-label') ?? attributeOf(link, 'title') ?? '';
    return shorten(text, maxLinkText) || shorten(label(), maxLinkText);
  };
  const readLinks = () => {
    const found = new Map<string, { url: string; text: string }>();
    // The initial 2 bytes are the brackets of the JSON array.
    let bytes = 2;
    for (const link of matchesIn(document, { css: 'a[href], area[href]', chains: [] })) {
      if (performance.now() > end) {
        truncated.add('links');
        break;
      }
      const url = urlOf(link);
      if (url === null) continue;
      const before = found.get(url);
      if (before !== undefined && before.text !== '') continue;
      const entry = { url, text: textOf(link) };
      const added = encoder.encode(JSON.stringify(entry)).length + 1;
      const removed = before === undefined ? 0 : encoder.encode(JSON.stringify(before)).length + 1;
      if (bytes + added - removed > maxBytes) {
        truncated.add('links');
        break;
      }
      bytes += added - removed;
      found.set(url, entry);
    }
    return [...found.values()];
  };

  const readMetadata = () => {
    const metas = [...findAll('meta[name][content], meta[property][content]')].slice(0, 1000);
    const linked = [...findAll('link[rel][href]')].slice(0, 1000);
    const contentOf = (meta: Element) => shorten(attributeOf(meta, 'content') ?? '', maxMetaLength);
    const relsOf = (link: Element) => (attributeOf(link, 'rel') ?? '').toLowerCase().split(/\s+/);
    const addressOf = (link: Element) => (isOwn(link) ? publicUrl(hrefOf.link(link), web) : null);
    const description = metas.find((meta) => attributeOf(meta, 'name')?.trim().toLowerCase() === 'description');
    const language = documentElement === null ? null : attributeOf(documentElement, 'lang');
    const canonical = linked.find((link) => relsOf(link).includes('canonical'));
    const openGraph = new Map<string, string>();
    for (const meta of metas) {
      const property = attributeOf(meta, 'property')?.trim() ?? '';
      if (!/^(?:og|article|book|profile|music|video):[\w:.-]{1,100}$/i.test(property)) continue;
      if (!openGraph.has(property) && openGraph.size < maxProperties) openGraph.set(property, contentOf(meta));
    }
    const icons = linked.flatMap((link) => {
      const url = addressOf(link);
      if (url === null || !relsOf(link).some((rel) => rel === 'icon' || rel.startsWith('apple-touch-icon'))) return [];
      const sizes = attributeOf(link, 'sizes');
      const type = attributeOf(link, 'type');
      return [
        {
          url,
          ...(sizes === null ? {} : { sizes: shorten(sizes, 100) }),
          ...(type === null ? {} : { type: shorten(type, 100) }),
        },
      ];
    });
    return {
      title: shorten(readerOf<string>(Document, 'title')(document), maxMetaLength),
      description: description === undefined ? null : contentOf(description),
      language: language === null || language.trim() === '' ? null : shorten(language, 100),
      canonicalUrl: canonical === undefined ? null : addressOf(canonical),
      openGraph: Object.fromEntries(openGraph),
      icons: icons.slice(0, maxIcons),
    };
  };

  const wanted = new Set(names);
  // Parts that are read fast come first.
  const extracted: Extracted = {
    ...(wanted.has('metadata') ? { metadata: readMetadata() } : {}),
    ...(wanted.has('html') ? { html: readHtml() } : {}),
    ...(wanted.has('links') ? { links: readLinks() } : {}),
    ...read({
      ...(wanted.has('text') ? { text: writeText(maxBytes) } : {}),
      ...(wanted.has('markdown') ? { markdown: writeMarkdown(maxBytes, inMarkdown) } : {}),
    }),
  };
  return truncated.size === 0 ? extracted : { ...extracted, truncated: [...truncated].toSorted() };
}
