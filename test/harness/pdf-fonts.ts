/** A font of a PDF as Chromium writes it: its objects are plain, and only streams are compressed. */
export interface PdfFont {
  /** The name; for a Type3 font, the name of its descriptor. */
  readonly name: string;
  /** Whether the file contains the glyphs, as a font file or drawn one by one (Type3). */
  readonly embedded: boolean;
}

/** Returns every font that the file names. */
export function fontsOf(bytes: Buffer): PdfFont[] {
  const objects = new Map<string, string>();
  for (const [, id = '', body = ''] of bytes.toString('latin1').matchAll(/(\d+) 0 obj\n(.*?)\nendobj/gs)) {
    objects.set(id, body);
  }
  return [...objects.values()]
    .filter((body) => body.startsWith('<</Type /Font\n') && !body.includes('/DescendantFonts'))
    .map((body) => {
      const descriptor = objects.get(/\/FontDescriptor (\d+) 0 R/.exec(body)?.[1] ?? '') ?? '';
      const isDrawn = body.includes('/Subtype /Type3') && body.includes('/CharProcs');
      return {
        name: /\/(?:BaseFont|FontName) \/(?:[A-Z]+\+)?(\S+)/.exec(body + descriptor)?.[1] ?? '',
        embedded: isDrawn || /\/FontFile[23]? \d+ 0 R/.test(descriptor),
      };
    });
}
