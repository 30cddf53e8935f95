import { describe, expect, test } from 'vitest';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet();
const site = useSite();

const page = '<!doctype html><title>Überschrift</title><style>body{margin:0;background:#7f00ff}</style><p>Grüße 😀</p>';

describe.concurrent('html', () => {
  test.for([
    ['raw', page],
    ['base64', Buffer.from(page).toString('base64')],
    ['URL-safe base64', Buffer.from(page).toString('base64url')],
    ['base64 without padding', Buffer.from(page).toString('base64').replaceAll('=', '')],
  ] as const)('%s is rendered', async ([, html]) => {
    const { data, picture } = await fleet().api.picture({ html });
    expect(picture.size).toBe('1280x720');
    expect(picture.at(1000, 600)).toBe('#7f00ff');
    expect(data.metadata.url).toBe('about:blank');
    expect(data.report).toMatchObject({ httpStatus: null, finalUrl: 'about:blank', title: 'Überschrift' });
  });

  test('a fragment without a doctype is rendered', { tags: 'long' }, async () => {
    const { picture } = await fleet().api.picture({ html: '<body style="background:#00ff00">' });
    expect(picture.share('#00ff00')).toBe(1);
  });

  test('its text is unchanged, in every script', async () => {
    const { pdf } = await fleet().api.pdf({ html: page });
    expect(pdf.text).toContain('Grüße');
  });

  test('can load pictures, styles and scripts from the web', async () => {
    const visit = site().visit('/asset/image', { c: '0000ff', w: 10, h: 10 });
    const id = new URL(visit.url).searchParams.get('v');
    const html = `<style>body{margin:0}</style><img src="${visit.url.replaceAll('&', '&amp;')}" style="display:block;width:200px;height:200px">
      <link rel="stylesheet" href="${site().origin}/asset/style?v=${id}&amp;css=${encodeURIComponent('body{background:#00ff00}')}">
      <script src="${site().origin}/asset/script?v=${id}&amp;js=${encodeURIComponent('document.title = "from the script"')}"></script>`;
    const { data, picture } = await fleet().api.picture({ html });
    expect(picture.at(100, 100)).toBe('#0000ff');
    expect(picture.at(600, 600)).toBe('#00ff00');
    expect(data.report.title).toBe('from the script');
    expect(data.report.images).toEqual({ loaded: 1, failed: 0, pending: 0 });
    expect(visit.requests.map(({ path }) => path).toSorted()).toEqual([
      '/asset/image',
      '/asset/script',
      '/asset/style',
    ]);
  });

  test('has a unique origin with working storage, and no access to this machine', async () => {
    const visit = site().visit('/asset/beacon');
    const html = `<script>
      const tries = {};
      try { localStorage.setItem('a', 'b'); tries.storage = localStorage.getItem('a'); } catch (error) { tries.storage = error.name; }
      tries.protocol = location.protocol;
      tries.secure = isSecureContext;
      fetch('file:///etc/passwd').then(() => 'read', () => 'refused').then((file) => {
        const picture = new Image();
        picture.src = ${JSON.stringify(visit.url)} + '&facts=' + encodeURIComponent(JSON.stringify({ ...tries, file }));
      });
    </script>`;
    await fleet().api.captured({ html, delay: 500 });
    expect(await visit.facts()).toEqual({ storage: 'b', protocol: 'https:', secure: true, file: 'refused' });
  });

  test('frames of local files are empty', { tags: 'long' }, async () => {
    const html =
      '<body style="margin:0;background:#fff"><iframe src="file:///etc/passwd" style="border:0;width:100%;height:700px"></iframe>';
    const { pdf } = await fleet().api.pdf({ html });
    expect(pdf.text).not.toMatch(/root|daemon|nobody/);
  });

  test.for([
    ['100 KB', 100_000],
    ['a megabyte', 1_040_000],
  ] as const)('of %s arrives complete', async ([, length]) => {
    const html = `<style>body{margin:0;background:#ff0000}</style>${' '.repeat(length)}<style>body{background:#00ff00}</style>`;
    const { picture } = await fleet().api.picture({ html });
    expect(picture.share('#00ff00')).toBe(1);
  });
});

describe.concurrent('url', () => {
  test('the response contains the requested and the final url', async () => {
    const url = site().url('/redirect');
    const data = await fleet().api.captured({ url });
    expect(data.metadata.url).toBe(url);
    expect(data.report.finalUrl).toContain('/color');
    expect(data.report.httpStatus).toBe(200);
  });

  test.for([301, 302, 303, 307, 308])('a redirect with status %d is followed', { tags: 'long' }, async (code) => {
    const visit = site().visit('/redirect', { code, hops: 3 });
    const { picture } = await fleet().api.picture({ url: visit.url });
    expect(picture.share('#00ff00')).toBe(1);
    expect(visit.seen('/redirect')).toHaveLength(4);
  });

  test.for(['meta', 'script'])('a redirect by the page through %s is followed', { tags: 'long' }, async (by) => {
    const { data, picture } = await fleet().api.picture({ url: site().url('/lead-on', { by }), delay: 1000 });
    expect(picture.share('#00ff00')).toBe(1);
    expect(data.report.finalUrl).toContain('/color');
  });

  test('can have a name, a fragment, and characters that need encoding', { tags: 'long' }, async () => {
    const { port } = site();
    const visit = site().visit('/color', { title: 'ein Löffel' });
    const query = new URL(visit.url).search;
    const data = await fleet().api.captured({ url: `http://localhost:${port}/color${query}#part` });
    expect(data.report.title).toBe('ein Löffel');
    const [seen] = visit.seen('/color');
    expect(seen?.headers.host).toBe(`localhost:${port}`);
  });

  test('the site receives the request of a normal browser', async () => {
    const visit = site().visit('/color');
    await fleet().api.captured({ url: visit.url });
    const [seen] = visit.seen('/color');
    expect(seen).toMatchObject({ method: 'GET' });
    expect(seen?.headers['user-agent']).toMatch(/^Mozilla\/5\.0 .*Chrome\/\d+/);
    expect(seen?.headers.accept).toContain('text/html');
    // No trace of the proxy.
    for (const name of ['via', 'x-forwarded-for', 'forwarded', 'proxy-connection', 'proxy-authorization']) {
      expect(seen?.headers[name]).toBeUndefined();
    }
  });
});
