import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';

/** Facts about a PDF, read by a library that the service does not use. */
export interface PdfFacts {
  /** The information dictionary. */
  readonly info: Readonly<Record<string, unknown>>;
  /** The XMP packet; undefined if there is none. */
  readonly xmp: Readonly<Record<string, unknown>> | undefined;
  readonly language: string | null;
  readonly showsTitle: boolean;
  readonly attachments: readonly { readonly name: string; readonly description: string; readonly text: string }[];
  /** Permission bits of ISO 32000-2, table 22; null: everything is allowed. */
  readonly permissions: readonly number[] | null;
  /** Addresses of the links on all pages. */
  readonly links: readonly string[];
  /** Pages that links within the document lead to, from 0. */
  readonly targets: readonly number[];
  /** Labels of the pages; null: there are none. */
  readonly labels: readonly string[] | null;
  /** Roles of the tags on all pages, such as H1. */
  readonly tags: readonly string[];
  /** Titles of the bookmarks that lead to a page, without their depth. */
  readonly bookmarks: readonly { readonly title: string; readonly page: number }[];
  /** The text of each page. */
  readonly texts: readonly string[];
}

interface Attachment {
  readonly filename: string;
  readonly description: string;
}

type Destination = string | readonly unknown[] | null;

interface Bookmark {
  readonly title: string;
  readonly dest: Destination;
  readonly items: readonly Bookmark[];
}

interface Tag {
  readonly role?: string;
  readonly children?: readonly Tag[];
}

/** @throws if the password is wrong */
export async function readFacts(bytes: Buffer, password = ''): Promise<PdfFacts> {
  const task = getDocument({ data: new Uint8Array(bytes), password, verbosity: 0 });
  try {
    const document = await task.promise;
    const { info, metadata } = await document.getMetadata();
    const attachments = [];
    const listed = (await document.getAttachments()) as Map<string, Attachment> | null;
    for (const [id, { filename, description }] of listed ?? []) {
      const content = (await document.getAttachmentContent(id)) as Uint8Array;
      attachments.push({ name: filename, description, text: Buffer.from(content).toString() });
    }
    const pageOf = async (dest: Destination) => {
      const explicit = typeof dest === 'string' ? await document.getDestination(dest) : dest;
      const [ref] = (explicit ?? []) as { num: number; gen: number }[];
      return ref === undefined ? -1 : document.getPageIndex(ref);
    };
    const pages = [];
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number);
      const links = (await page.getAnnotations()) as { url?: string; dest?: Destination }[];
      const { items } = await page.getTextContent();
      pages.push({
        links: links.flatMap(({ url }) => url ?? []),
        targets: await Promise.all(links.flatMap(({ dest }) => (dest === undefined ? [] : pageOf(dest)))),
        tags: rolesOf((await page.getStructTree()) as Tag | null),
        text: items.flatMap((item) => ('str' in item && item.str.trim() !== '' ? item.str : [])).join(' '),
      });
    }
    const bookmarks = [];
    for (const { title, dest } of flat((await document.getOutline()) as Bookmark[] | null)) {
      bookmarks.push({ title, page: await pageOf(dest) });
    }
    const permissions = (await document.getPermissions()) as Iterable<number> | null;
    const { Language } = info as { Language?: string | null };
    return {
      info: info as Record<string, unknown>,
      xmp: metadata === null ? undefined : (Object.fromEntries(metadata) as Record<string, unknown>),
      language: Language ?? null,
      showsTitle:
        ((await document.getViewerPreferences()) as Map<string, unknown> | null)?.get('DisplayDocTitle') === true,
      attachments,
      permissions: permissions === null ? null : [...permissions],
      links: pages.flatMap(({ links }) => links),
      targets: pages.flatMap(({ targets }) => targets),
      labels: await document.getPageLabels(),
      tags: pages.flatMap(({ tags }) => tags),
      texts: pages.map(({ text }) => text),
      bookmarks,
    };
  } finally {
    await task.destroy();
  }
}

const flat = (bookmarks: readonly Bookmark[] | null): readonly Bookmark[] =>
  (bookmarks ?? []).flatMap((bookmark) => [bookmark, ...flat(bookmark.items)]);

const rolesOf = (tag: Tag | null): string[] =>
  tag === null ? [] : [...(tag.role === undefined ? [] : [tag.role]), ...(tag.children ?? []).flatMap(rolesOf)];
