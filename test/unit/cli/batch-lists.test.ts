import { describe, expect, test } from 'vitest';
import { makeEntries, readList } from '../../../services/cli/batch/entries.ts';
import { chooseFiles } from '../../../services/cli/batch/file-names.ts';
import { renderIndexPage } from '../../../services/cli/batch/index-page.ts';
import { readSitemap } from '../../../services/cli/batch/sitemap.ts';

const entriesOf = (text: string, common: Record<string, unknown> = {}) => makeEntries(readList(text), common);
const requests = (text: string) => readList(text).map(({ request }) => request);
const filesOf = (text: string, earlier = new Map<string, string>()) => [
  ...chooseFiles(entriesOf(text), earlier).values(),
];

describe('a list of captures', () => {
  test('can be plain addresses with comments', () => {
    expect(requests('\uFEFFhttps://a.test/\r\n\n# no\n  https://b.test/,c  \n')).toEqual([
      { url: 'https://a.test/' },
      { url: 'https://b.test/,c' },
    ]);
  });

  test('can be CSV, with options as fields or flags', () => {
    const text =
      'URL;viewport.width;full-page;hide;file\n"https://a.test/;x";800;true;"[""a"",""b""]";home\nhttps://b.test/;;;;\n';
    expect(readList(text)).toEqual([
      {
        place: 'line 2',
        request: { url: 'https://a.test/;x', viewport: { width: 800 }, isFullPage: true, hide: ['a', 'b'] },
        file: 'home',
      },
      { place: 'line 3', request: { url: 'https://b.test/' } },
    ]);
    expect(requests('url\nhttps://a.test/,b\n')).toEqual([{ url: 'https://a.test/,b' }]);
  });

  test('can be JSON lines, whose options override those for all entries', () => {
    const [first, second] = entriesOf('{"url":"https://a.test/","viewport":{"width":800}}\n"https://b.test/"', {
      viewport: { width: 100, height: 600 },
    });
    expect(first?.request).toEqual({ url: 'https://a.test/', viewport: { width: 800, height: 600 } });
    expect(second?.request).toEqual({ url: 'https://b.test/', viewport: { width: 100, height: 600 } });
  });

  test('derives the id of an entry from its request, so that lines can be added and moved', () => {
    const ids = (text: string) => entriesOf(text).map(({ id }) => id);
    const [a, b] = ids('https://a.test/\nhttps://b.test/');
    expect(ids('https://c.test/\nhttps://b.test/\nhttps://a.test/').slice(1)).toEqual([b, a]);
    expect(ids('https://a.test/\nhttps://a.test/\nhttps://a.test/')).toEqual([a, `${a}-2`, `${a}-3`]);
    const request = ['"url":"https://a.test/"', '"format":"png"', '"delay":7'];
    expect(ids(`{${request.toReversed().join()}}`)).toEqual([...ids(`{${request.join()}}`)]);
  });

  test.each([
    ['{"url":"https://a.test/","quality":500}', 'line 1: quality must be an integer from 1 to 100, not 500'],
    ['{"url":"https://a.test/","background":true}', 'line 1: background cannot be set in a batch'],
    ['{"url":"https://a.test/"}\n{"url":', 'line 2: it is not JSON'],
    ['{"url":"https://a.test/","html":"<p>"}', 'line 1: exactly one of url and html is required'],
    ['url,formt\nhttps://a.test/,png', 'columns that are not options of a capture: "formt"'],
    ['url,format\nhttps://a.test/,png,x', 'The list is not CSV'],
    ['https://a.test/\njavascript:alert(1)', 'line 2: "javascript:alert(1)" is not an http or https URL'],
    ['', 'The list has no entries'],
  ])('is refused with a message: %j', (text, message) => {
    expect(() => entriesOf(text)).toThrow(message);
  });
});

describe('the files of a batch', () => {
  test('are named after the addresses, and differ on every file system', () => {
    const text = [
      'https://user:secret@a.test/Blog/?q=1#x',
      'https://a.test/blog',
      'https://a.test/%2e%2e/%2e%2e/etc',
      'https://a.test/../..//x',
      'https://a.test/blog-q-1-x',
      'https://con',
      'https://..b.test/--',
      `https://a.test/${'y'.repeat(500)}`,
    ].join('\n');
    const files = filesOf(text);
    expect(files.slice(0, 7)).toEqual([
      'a.test-blog-q-1-x.png',
      'a.test-blog.png',
      'a.test-2e-2e-2e-2e-etc.png',
      'a.test-.-.-x.png',
      'a.test-blog-q-1-x-2.png',
      'page-con.png',
      'b.test.png',
    ]);
    expect(files[7]).toHaveLength(124);
  });

  test('have the same names in each run', () => {
    const [entry] = entriesOf('https://a.test/');
    expect(filesOf('https://b.test/\nhttps://a.test/', new Map([[entry?.id ?? '', 'b.test.png']]))).toEqual([
      'b.test.png',
      'b.test-2.png',
    ]);
    // The same page with other options is a different entry.
    const other = '{"url":"https://a.test/","isFullPage":true}';
    expect(filesOf(other, new Map([[entry?.id ?? '', 'a.test.png']]))).toEqual(['a.test-2.png']);
  });

  test.each([
    ['../x', 'must stay inside'],
    ['/etc/x', 'must stay inside'],
    ['a/../../x', 'must stay inside'],
    ['a\\b', 'characters that are not allowed in file names'],
    ['a\u202egnp', 'characters that are not allowed in file names'],
    ['.webcapture-batch.jsonl', 'begins or ends with a dot'],
    ['x'.repeat(200), 'more than 120 bytes'],
    [`a/${'x'.repeat(121)}`, 'more than 120 bytes'],
  ])('are refused with the name %j', (file, message) => {
    expect(() => filesOf(JSON.stringify({ url: 'https://a.test/', file }))).toThrow(message);
  });

  test('are refused if two entries have the same name', () => {
    const line = (url: string, file: string) => JSON.stringify({ url, file });
    const text = `${line('https://a.test/', 'x')}\n${line('https://b.test/', 'X.png')}`;
    expect(() => filesOf(text)).toThrow('line 2: the file X.png belongs to another entry');
  });
});

describe('a sitemap', () => {
  const read = (text: string) => {
    const warnings: string[] = [];
    const options = { signal: new AbortController().signal, warn: (sentence: string) => void warnings.push(sentence) };
    return readSitemap(Buffer.from(text), 'sitemap.xml', options).then((entries) => ({
      urls: entries.map(({ request }) => request['url']),
      warnings,
    }));
  };

  test('with a name space and entities leaves out addresses that are not web pages', async () => {
    const locations = [
      'https://a.test/?a=1&amp;b=2',
      'https://a.test/&#x3c;',
      'file:///etc/passwd',
      'https://a.test/&#x3c;',
    ];
    const urls = locations.map((each) => `<s:url><s:loc>\n${each} </s:loc></s:url>`).join('');
    expect(await read(`<s:urlset xmlns:s="x">${urls}</s:urlset>`)).toEqual({
      urls: ['https://a.test/?a=1&b=2', 'https://a.test/<'],
      warnings: ['sitemap.xml: skipped "file:///etc/passwd", which is not an http or https URL of a page.'],
    });
  });

  test('leaves out sitemaps whose address is not http or https', async () => {
    const text = '<sitemapindex><sitemap><loc>file:///etc/passwd</loc></sitemap></sitemapindex>';
    expect(await read(text)).toEqual({
      urls: [],
      warnings: ['sitemap.xml: skipped the sitemap "file:///etc/passwd": it is not an http or https URL.'],
    });
  });

  test.each([
    'localhost:8080',
    '127.1',
    '[::1]',
    '169.254.169.254',
    '10.0.0.1',
    'metadata.localhost',
    'no-such.invalid',
  ])('in a file cannot make the client fetch %s', async (host) => {
    const text = `<sitemapindex><sitemap><loc>http://${host}/a.xml</loc></sitemap></sitemapindex>`;
    const { urls, warnings } = await read(text);
    expect(urls).toEqual([]);
    expect(warnings).toEqual([
      `sitemap.xml: skipped the sitemap "http://${host}/a.xml": it is not on the public internet. If you trust that address, use --sitemap-origin ${new URL(`http://${host}`).origin}.`,
    ]);
  });

  test.each([
    ['<!DOCTYPE x [<!ENTITY a "b">]><urlset/>', 'contains a document type'],
    ['<html></html>', 'is not a sitemap'],
  ])('%s is refused', async (text, message) => {
    await expect(read(text)).rejects.toThrow(message);
  });
});

test('the index page of a batch shows hostile titles and addresses as text', () => {
  const entries = entriesOf('https://a.test/"><script>alert(1)</script>\u202egnp');
  const [{ id } = { id: '' }] = entries;
  const captured = {
    uuid: 'u',
    fileUrl: 'https://cdn.test/x',
    format: 'png',
    width: 1,
    height: 1,
    title: '</title><img src=x onerror=alert(1)>\u202e\u2066\u001b[2J',
    httpStatus: 200,
    remarks: ['<b>'],
  };
  const states = new Map([[id, { key: 'k', file: 'a b/#"%.png', captured, saved: 1 }]]);
  const page = renderIndexPage(entries, states, { done: new Set([id]), at: new Date(0) });
  expect(page).not.toMatch(/<script|<img src=x|<b>|[\u202a-\u202e\u2066-\u2069]|\p{Cc}(?<!\n)/u);
  expect(page).toContain('href="a%20b/%23%22%25.png"');
  expect(page).toContain('href="https://a.test/%22%3E%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AEgnp"');
});

test('the index page of a batch counts failed and missing captures, and shows the messages of failures', () => {
  const entries = entriesOf(['https://a.test/', 'https://b.test/', 'https://c.test/', 'https://d.test/'].join('\n'));
  const [a, b] = entries.map(({ id }) => id);
  const failed = { code: 'NAVIGATION_FAILED', message: 'There is no such host.' };
  const states = new Map([
    [a ?? '', { key: 'k', file: 'a.png', saved: 1 }],
    [b ?? '', { key: 'k', file: 'b.png', failed }],
  ]);
  const page = renderIndexPage(entries, states, { done: new Set([a ?? '']), at: new Date(0) });
  expect(page).toContain('1 of 4 captured, 1 failed, 2 not captured yet');
  expect(page).toContain('There is no such host.');
});

test('captures without a picture have JSON files, which the index page links', () => {
  const entries = entriesOf('url,format,file\nhttps://a.test/,none,\nhttps://b.test/,none,data\n', {
    extract: ['text'],
  });
  const files = [...chooseFiles(entries, new Map()).values()].toSorted();
  expect(files).toEqual(['a.test.json', 'data.json']);
  const id = entries[0]?.id ?? '';
  const facts = { uuid: 'u', fileUrl: 'f', width: 1, height: 2, title: 'A', httpStatus: 200, remarks: [] };
  const states = new Map([[id, { key: 'k', file: 'a.test.json', captured: { ...facts, format: 'none' }, saved: 1 }]]);
  const page = renderIndexPage(entries, states, { done: new Set([id]), at: new Date(0) });
  expect(page).toContain('<a class="picture" href="a.test.json" aria-label="a.test.json"><span>JSON</span></a>');
  expect(page).toContain('<p class="small">a.test.json</p>');
});
