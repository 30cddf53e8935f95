import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { answer, marked, svg } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';

const green = '#00aa00';
const isGreen: HardPage['check'] = (seen) => seen.expectColor(300, 300, green);
/** Each case has different content that counts as blank. */
const images = ['png', 'jpeg', 'webp'] as const;

/** A document in an old charset, with a title that must be decoded correctly. */
const charset = (bytes: readonly number[], title: string, type: string, meta: string) => ({
  title,
  page: answer(
    type,
    Buffer.concat([
      Buffer.from(`<html><head>${meta}<title>`),
      Buffer.from(bytes),
      Buffer.from('</title></head><body>x'),
    ]),
  ),
});

const hex = (text: string) => [...Buffer.from(text.replaceAll(' ', ''), 'hex')];
const byHeader = (name: string) => [`text/html; charset=${name}`, ''] as const;
const byMeta = (name: string) => ['text/html', `<meta charset="${name}">`] as const;
const utf16 = (littleEndian: boolean) => {
  const page = Buffer.from('\ufeff<!doctype html><title>漢字 é</title><body>x', 'utf16le');
  return littleEndian ? page : page.swap16();
};
const charsets = [
  charset(hex('e9 80 9f'), 'é€Ÿ', ...byHeader('windows-1252')),
  // Browsers treat it as windows-1252.
  charset(hex('e9 80'), 'é€', ...byMeta('iso-8859-1')),
  charset(hex('93fa 967b 8cea'), '日本語', ...byHeader('Shift_JIS')),
  charset(hex('93fa 967b 8cea'), '日本語', ...byMeta('Shift_JIS')),
  charset(hex('d6d0 cec4 cdf8 d2b3'), '中文网页', ...byMeta('gb2312')),
  charset(hex('a4a4 a4e5'), '中文', ...byHeader('big5')),
  charset(hex('c7d1 b1b9 beee'), '한국어', ...byMeta('euc-kr')),
  charset(hex('f0d2 c9d7 c5d4'), 'Привет', ...byHeader('koi8-r')),
  // The header takes precedence over the declaration in the page, unless its value is unknown.
  charset(hex('e6bca2'), '漢', 'text/html; charset=utf-8', '<meta charset="koi8-r">'),
  charset(hex('e6bca2'), '漢', 'text/html; charset=nonsense', '<meta charset="utf-8">'),
  // The byte order mark takes precedence over everything.
  { title: '漢字 é', page: answer('text/html', utf16(true)) },
  { title: '漢字 é', page: answer('text/html', utf16(false)) },
  { title: '漢字 é', page: answer('text/html; charset=koi8-r', '\ufeff<!doctype html><title>漢字 é</title>') },
];
const russian = 'Съешь же ещё этих мягких французских булок, да выпей чаю. '.repeat(8);

/** A main document of a type other than HTML. */
const plain = (type: string, body: string | Buffer, check: HardPage['check'] = () => undefined): HardPage => ({
  name: `a document of ${type}`,
  site: { '/': answer(type, body) },
  formats: ['png'],
  check: async (seen) => {
    expect(seen.report).toMatchObject({ httpStatus: 200, blank: false, softTimeouts: [], challenge: false });
    await check(seen);
  },
});

const status = (code: number, body: string, more: Record<string, string> = {}): HardPage => ({
  name: `a page with status ${code}${body === '' ? ' and no content' : ''}`,
  site: { '/': answer('text/html', body, { status: code, headers: more }) },
  formats: ['png'],
  check: (seen) => {
    expect(seen.report.httpStatus).toBe(code);
    expect(seen.report.challenge).toBe(false);
    if (body !== '') seen.expectColor(300, 300, green);
  },
});
const page = html(`<body style="background:${green}">`);

const pages: readonly HardPage[] = [
  {
    name: 'old charsets, by header, meta tag and byte order mark, and wrong declarations',
    site: {
      '/': html(
        `<script>onload = () => { document.title = Array.from({ length: frames.length }, (_, n) => frames[n].document.title).join('|') }</script>` +
          charsets.map((_, index) => `<iframe src="/${index}"></iframe>`).join(''),
      ),
      ...Object.fromEntries(charsets.map(({ page }, index) => [`/${index}`, page])),
    },
    formats: ['png'],
    check: (seen) => expect(seen.report.title).toBe(charsets.map(({ title }) => title).join('|')),
  },
  {
    name: 'an undeclared charset is detected',
    site: {
      '/': answer(
        'text/html',
        Buffer.concat([Buffer.from('<title>'), encode1251('Привет'), Buffer.from('</title><p>'), encode1251(russian)]),
      ),
    },
    formats: ['png'],
    check: (seen) => expect(seen.report.title).toBe('Привет'),
  },
  plain('application/json', '{"a": [1, 2]}'),
  plain('text/plain', 'text, é', (seen) => expect(seen.picture.share('#ffffff')).toBeGreaterThan(0.9)),
  plain('text/xml', '<?xml version="1.0"?><a><b>text</b></a>'),
  plain(
    'application/xhtml+xml',
    `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head><body style="background:${green}">text</body></html>`,
    isGreen,
  ),
  plain('image/svg+xml', svg(green, 600), isGreen),
  plain(
    'image/png',
    Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgWMUAAAFyAKvx4bXwAAAAAElFTkSuQmCC',
      'base64',
    ),
  ),
  {
    name: 'xml with a style sheet (XSLT)',
    site: {
      '/': answer('text/xml', '<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="/x.xsl"?><a/>'),
      '/x.xsl': answer(
        'text/xsl',
        `<?xml version="1.0"?><xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/"><html><body bgcolor="${green}"/></html></xsl:template></xsl:stylesheet>`,
      ),
    },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'forms and fields with the names of DOM members',
    site: {
      '/': html(
        `<body style="background:${marked(green)}"><form name="title"></form>
         <form><input hidden name="childNodes"><input hidden name="children"><input hidden name="style"></form><script>0</script>`,
      ),
    },
    options: { isFullPage: true },
    formats: ['png'],
    check: async (seen) => {
      expect(seen.report.title).toBe('Test');
      await isGreen(seen);
    },
  },
  {
    name: 'invalid html: unclosed, duplicate and wrongly nested tags',
    site: {
      '/': `<body bgcolor="${green}"><p><div><<table><b></i></p></html><body style="margin:0"><title>Late</title><tr><td <script>x</script`,
    },
    formats: ['png'],
    check: async (seen) => {
      await isGreen(seen);
      expect(seen.report.title).toBe('Late');
    },
  },
  {
    name: 'html without head and body, in quirks mode, without declarations',
    site: { '/': `<style>html{height:100%;background:${green}}</style>x` },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'an empty document is blank',
    site: { '/': '' },
    formats: images,
    check: (seen) => expect(seen.report).toMatchObject({ blank: true, title: '', httpStatus: 200 }),
  },
  {
    name: 'a page of one color is blank',
    site: { '/': page },
    formats: ['png'],
    check: (seen) => expect(seen.report).toMatchObject({ blank: true, title: 'Test' }),
  },
  {
    name: 'a page with one full stop is not blank',
    site: { '/': html('<p>.') },
    formats: images,
    check: (seen) => expect(seen.report.blank).toBe(false),
  },
  {
    name: 'a page full of fine noise is not blank',
    site: { '/': html('text '.repeat(2000)) },
    formats: images,
    check: (seen) => expect(seen.report.blank).toBe(false),
  },
  status(404, page),
  status(500, page),
  status(401, page, { 'www-authenticate': 'Basic realm="x"' }),
  status(404, ''),
  status(302, ''),
  {
    name: 'a title of 600 emoji is cut between two of them; white space is collapsed',
    site: { '/': `<title>  A \n ${'😀'.repeat(600)}</title>` },
    formats: ['png'],
    check: (seen) => expect(seen.report.title).toBe(`A ${'😀'.repeat(510)}`),
  },
  {
    name: 'the title of an SVG in the body is not that of the page',
    site: { '/': '<body><svg><title>icon</title></svg>x' },
    formats: ['png'],
    check: (seen) => expect(seen.report.title).toBe(''),
  },
  {
    name: 'a title of five million characters',
    isLong: true,
    site: { '/': `<title>${'x'.repeat(5_000_000)}</title>` },
    formats: ['png'],
    check: (seen) => expect(seen.report.title).toBe('x'.repeat(512)),
  },
  {
    name: 'a bot protection page is reported, and captured',
    site: {
      '/': answer(
        'text/html',
        '<title>Just a moment...</title><div id="challenge-error-text">Enable JavaScript</div>',
        {
          status: 403,
          headers: { 'cf-mitigated': 'challenge' },
        },
      ),
    },
    formats: ['png'],
    check: (seen) => expect(seen.report).toMatchObject({ challenge: true, httpStatus: 403, blank: false }),
  },
  {
    name: 'a page that forbids access is not a bot protection page',
    site: { '/': answer('text/html', '<h1>Forbidden</h1>', { status: 403 }) },
    formats: ['png'],
    check: (seen) => expect(seen.report).toMatchObject({ challenge: false, httpStatus: 403 }),
  },
  {
    name: "a content security policy that forbids everything except the page's own drawing",
    isLong: true,
    site: {
      '/': answer(
        'text/html',
        `<!doctype html><title>CSP</title><body bgcolor="${green}"><img src="/x"><script>document.title = 'ran'</script>`,
        {
          headers: { 'content-security-policy': "default-src 'none'; sandbox; require-trusted-types-for 'script'" },
        },
      ),
    },
    formats: ['png', 'pdf'],
    check: async (seen) => {
      await isGreen(seen);
      expect(seen.report).toMatchObject({ title: 'CSP', images: { loaded: 0, failed: 1, pending: 0 } });
    },
  },
];

/** Russian in windows-1251. */
function encode1251(text: string): Buffer {
  return Buffer.from(
    [...text].map((letter) => {
      const code = letter.codePointAt(0) ?? 0;
      if (letter === 'ё') return 0xb8;
      return code >= 0x410 ? code - 0x410 + 0xc0 : code;
    }),
  );
}

testCorpus(pages);
