/** Properties for an XMP packet. */
interface DocumentFacts {
  readonly title: string | undefined;
  readonly author: string | undefined;
  readonly subject: string | undefined;
  readonly keywords: readonly string[];
  readonly language: string | undefined;
  readonly creator: string | undefined;
  readonly producer: string | undefined;
  readonly createdAt: Date | undefined;
  readonly modifiedAt: Date | undefined;
}

/** Returns an XMP packet (ISO 16684-1). It contains the metadata of a PDF for programs that do not read its information dictionary. */
export function xmpPacket(facts: DocumentFacts): string {
  const { title, author, subject, keywords, language, creator, producer, createdAt, modifiedAt } = facts;
  const properties = [
    ...list('dc:title', 'Alt', title),
    ...list('dc:creator', 'Seq', author),
    ...list('dc:description', 'Alt', subject),
    ...list('dc:subject', 'Bag', ...keywords),
    ...list('dc:language', 'Bag', language),
    ...simple('pdf:Keywords', keywords.length === 0 ? undefined : keywords.join(', ')),
    ...simple('pdf:Producer', producer),
    ...simple('xmp:CreatorTool', creator),
    ...simple('xmp:CreateDate', dateOf(createdAt)),
    ...simple('xmp:ModifyDate', dateOf(modifiedAt)),
  ];
  return `<?xpacket begin="\u{FEFF}" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:pdf="http://ns.adobe.com/pdf/1.3/" xmlns:xmp="http://ns.adobe.com/xap/1.0/">
${properties.join('\n')}
</rdf:Description>
</rdf:RDF>
</x:xmpmeta>
<?xpacket end="r"?>`;
}

const simple = (name: string, value: string | undefined): string[] =>
  value === undefined ? [] : [`<${name}>${escapeXml(value)}</${name}>`];

function list(name: string, kind: 'Alt' | 'Bag' | 'Seq', ...values: readonly (string | undefined)[]): string[] {
  const given = values.filter((value) => value !== undefined);
  if (given.length === 0) return [];
  const lang = kind === 'Alt' ? ' xml:lang="x-default"' : '';
  const items = given.map((value) => `<rdf:li${lang}>${escapeXml(value)}</rdf:li>`);
  return [`<${name}><rdf:${kind}>${items.join('')}</rdf:${kind}></${name}>`];
}

/** Formats a date in whole seconds, like dates in PDF. */
const dateOf = (date: Date | undefined) =>
  date === undefined || Number.isNaN(date.getTime()) ? undefined : date.toISOString().replace(/\.\d+Z$/, 'Z');

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Escapes text, and replaces characters that XML does not allow; the title of a page may contain them. */
function escapeXml(text: string): string {
  const valid = text.replaceAll(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\u{FFFD}');
  return valid.replaceAll(/[&<>]/g, (character) => entities[character] ?? '');
}
