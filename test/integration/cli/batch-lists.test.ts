import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { plainReport } from '../../harness/records.ts';
import { serve, serveFolder } from '../../harness/static-site.ts';
import { pictures } from './batch-output.ts';
import { useCli } from './test-cli.ts';

const cli = useCli();

describe('a list', () => {
  test('may be hostile: files stay in the folder, and text remains text', async () => {
    const account = await cli().openAccount();
    const out = join(cli().folder, 'hostile');
    const title = '</title><script>alert(1)</script>\u202egnp.exe\u001b[2J';
    cli().front.renderer.behavior = async (job, renderer) => {
      const upload = await renderer.upload(job);
      await renderer.publish(job, { kind: 'completed', upload, report: { ...plainReport, title }, ageMs: 1 });
    };
    const hostile = [
      'https://example.com/../../../../etc/passwd',
      'https://example.com/%2e%2e%2f%2e%2e%2fx',
      'https://example.com/a"><img src=x onerror=alert(1)>',
      'https://example.com/A',
      'https://example.com/a',
      'https://example.com/a',
      `https://example.com/${'long/'.repeat(300)}`,
      'https://example.com/\u202etxt.exe',
    ];
    const { code, stderr } = await account.run(['batch', '-', '-o', out], { input: hostile.join('\n') });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).not.toMatch(/\u202e|\p{Cc}(?<!\n)/u);
    expect(await pictures(out)).toHaveLength(hostile.length);
    expect((await readdir(cli().folder)).filter((name) => name.endsWith('.png'))).toEqual([]);
    const page = await readFile(join(out, 'index.html'), 'utf8');
    expect(page).not.toMatch(/<script|<img src=x|\u202e|\p{Cc}(?<!\n)/u);
    expect(page).toContain('\\u{202e}gnp.exe');
  });

  test('can be an index of compressed sitemaps over http; a failed one is reported, others are captured', async () => {
    const account = await cli().openAccount();
    const out = join(cli().folder, 'sitemap');
    const site = join(cli().folder, 'site');
    await mkdir(site);
    await using server = await serveFolder(site);
    const urls = (names: readonly string[]) => names.map((name) => `<url><loc>https://example.com/${name}</loc></url>`);
    const sitemap = (name: string) => `<sitemap><loc>${server.url}/${name}</loc></sitemap>`;
    const head = '<?xml version="1.0" encoding="UTF-8"?>';
    const space = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"';
    const index = (names: readonly string[]) =>
      `${head}<sitemapindex ${space}>${names.map(sitemap).join('')}</sitemapindex>`;
    const set = (names: readonly string[]) => `${head}<urlset ${space}>${urls(names).join('')}</urlset>`;
    await writeFile(join(site, 'sitemap.xml'), index(['nested.xml', 'packed.xml.gz', 'nested.xml']));
    await writeFile(join(site, 'nested.xml'), index(['one.xml', 'sitemap.xml']));
    await writeFile(join(site, 'one.xml'), set(['one?a=1&amp;b=2', 'broken']));
    await writeFile(join(site, 'packed.xml.gz'), gzipSync(set(['two', 'one?a=1&amp;b=2'])));
    cli().front.renderer.behavior = (job, renderer) =>
      'url' in job.source && job.source.url.endsWith('/broken')
        ? renderer.fail(job, 'PAGE_TOO_LARGE', 'The page is too large.')
        : renderer.complete(job);
    const { code, stdout } = await account.run(['batch', `${server.url}/sitemap.xml`, '-o', out, '--json']);
    expect(JSON.parse(stdout.toString())).toMatchObject({
      total: 3,
      saved: 2,
      failures: [{ url: 'https://example.com/broken', code: 'PAGE_TOO_LARGE' }],
    });
    expect(code).toBe(1);
    expect(await readFile(join(out, 'index.html'), 'utf8')).toContain('<b>PAGE_TOO_LARGE</b> The page is too large.');
    expect(cli().front.renderer.jobs.map(({ source }) => 'url' in source && source.url)).toContain(
      'https://example.com/one?a=1&b=2',
    );
  });

  test('that is a sitemap sends no requests to other sites that it names or redirects to', async () => {
    const account = await cli().openAccount();
    const asked: (string | undefined)[] = [];
    await using inner = await serve((request, response) => {
      asked.push(request.url);
      response.end('<urlset><url><loc>https://example.com/inner</loc></url></urlset>');
    });
    const index = (...urls: string[]) =>
      `<sitemapindex>${urls.map((url) => `<sitemap><loc>${url}</loc></sitemap>`).join('')}</sitemapindex>`;
    await using site = await serve((request, response) => {
      const { origin, pathname } = new URL(request.url ?? '/', `http://${request.headers.host}`);
      if (pathname === '/index.xml') response.end(index(`${inner.url}/child`, `${origin}/moved.xml`));
      else if (pathname === '/moved.xml') response.writeHead(302, { location: '/own.xml' }).end();
      else if (pathname === '/own.xml') response.end('<urlset><url><loc>https://example.com/own</loc></url></urlset>');
      else response.writeHead(302, { location: `${inner.url}/redirect` }).end();
    });
    const run = (list: string, name: string, input = '', ...flags: string[]) =>
      account.run(['batch', list, '-o', join(cli().folder, name), ...flags], { input });

    const named = await run(`${site.url}/index.xml`, 'site-index');
    expect({ code: named.code, stdout: named.stdout.toString() }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^1 of 1 captured/) as string,
    });
    expect(named.stderr).toContain(`skipped the sitemap "${inner.url}/child": only those of ${site.url} are read.`);

    const redirected = await run(`${site.url}/away`, 'site-away');
    expect(redirected.code).toBe(2);
    expect(redirected.stderr).toContain(
      `${site.url}/away redirects to another site, ${inner.url}/redirect. If you trust`,
    );

    const list = index(`${site.url}/own.xml`, `${inner.url}/child`);
    const piped = await run('-', 'site-piped', list, '--sitemap-origin', site.url);
    expect({ code: piped.code, stderr: piped.stderr }).toMatchObject({ code: 0 });
    // Without the flag, a file cannot choose an address of this network.
    const unasked = await run('-', 'site-unasked', index(`${inner.url}/child`));
    expect(unasked.code).toBe(2);
    expect(unasked.stderr).toContain(
      `skipped the sitemap "${inner.url}/child": it is not on the public internet. If you trust that address, use --sitemap-origin ${inner.url}.`,
    );
    expect(asked).toEqual([]);
  });
});
