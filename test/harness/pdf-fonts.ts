/** A font of a pdf as Chromium writes it: its objects are plain, only streams are packed. */
export interface PdfFont {
  /** Of a Type3 font, which has no name but that of its descriptor, that one. */
  readonly name: string;
  /** Its letters are in the file: as a font file, or drawn one by one (Type3). */
  readonly embedded: boolean;
}

/** Every font that the file names. */
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
