import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Journal } from '../../../services/cli/batch/journal.ts';
import { plainReport } from '../../harness/records.ts';
import { serveFolder } from '../../harness/static-site.ts';
import { until } from '../../harness/until.ts';
import { startTestCli, type TestCli } from './test-cli.ts';
import { type CommandOptions, fromSources } from './command.ts';

let cli: TestCli;
beforeAll(async () => {
  cli = await startTestCli();
});
afterAll(() => cli[Symbol.asyncDispose]());
beforeEach(() => {
  cli.front.renderer.behaviour = (job, renderer) => renderer.complete(job);
});

const addresses = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => `https://example.com/${name}/${index}\n`).join('');

/** Completes so many jobs at once, and holds the others until the function that it returns is called. */
function completeFirst(count: number): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  let jobs = 0;
  cli.front.renderer.behaviour = async (job, renderer) => {
    if (++jobs > count) await promise;
    await renderer.complete(job);
  };
  return resolve;
}

const pictures = async (folder: string) => (await readdir(folder)).filter((name) => name.endsWith('.png'));

const journalOf = async (folder: string) =>
  (await readFile(join(folder, '.webcapture-batch.jsonl'), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; id: string; key?: string });

describe('a batch captures each entry once', () => {
  test('when the rate limit refuses most requests at first', async () => {
    // A batch begins with four at a time, of which one is accepted.
    const account = await cli.openAccount({ ratePerMinute: 60, burst: 1 });
    const out = join(cli.folder, 'rate');
    const { code, stderr, stdout } = await account.run(['batch', '-', '-o', out, '--concurrency', '30'], {
      input: addresses(6, 'rate'),
      program: fromSources,
    });
    expect({ code, stdout: stdout.toString() }).toEqual({
      code: 0,
      stdout: `6 of 6 captured; ${join(out, 'index.html')} shows them.\n`,
    });
    expect(stderr).toContain('for the rate limit');
    expect(await pictures(out)).toHaveLength(6);
    expect((await account.usage()).tokensUsed).toBe(6);
  });

  test('when it is killed in the middle and started again', async () => {
    const account = await cli.openAccount();
    const out = join(cli.folder, 'killed');
    const completeOthers = completeFirst(15);
    const args = ['batch', '-', '-o', out, '--concurrency', '6'];
    const input = addresses(60, 'killed');
    const { child, result } = account.start(args, { input });
    await until('a part of the batch to be done', async () => (await pictures(out)).length >= 15);
    child.kill('SIGKILL');
    await result;
    completeOthers();
    const before = await journalOf(out);
    expect(before.length).toBeLessThan(180);

    const again = await account.run(args, { input });
    expect(again.stderr).toMatch(/^Going on: \d+ of 60 are done\./);
    expect(again.code).toBe(0);
    expect(await pictures(out)).toHaveLength(60);
    const keys = (await journalOf(out)).flatMap(({ key }) => key ?? []);
    expect(keys).toHaveLength(60);
    await until('the captures of the killed process to be settled', async () => (await account.usage()).inFlight === 0);
    expect((await account.usage()).tokensUsed).toBe(60);
  });

  test('when it is interrupted, which leaves a page of what there is', async () => {
    const account = await cli.openAccount();
    const out = join(cli.folder, 'interrupted');
    const completeOthers = completeFirst(5);
    const input = addresses(40, 'interrupted');
    const { child, result } = account.start(['batch', '-', '-o', out], { input });
    await until('a part of the batch to be done', async () => (await pictures(out)).length >= 5);
    child.kill('SIGINT');
    const { code, stderr } = await result;
    completeOthers();
    expect(code).toBe(130);
    expect(stderr).toMatch(/webcapture: Interrupted\. \d+ of 40 are done\. Run the same command again to go on/);
    expect(await readFile(join(out, 'index.html'), 'utf8')).toMatch(/\d+ of 40 captured, \d+ not captured yet/);
    expect((await account.run(['batch', '-', '-o', out], { input })).code).toBe(0);
    await until('all captures to be settled', async () => (await account.usage()).inFlight === 0);
    expect((await account.usage()).tokensUsed).toBe(40);
  });

  test('when the disk is full, once there is room', async () => {
    const account = await cli.openAccount();
    const out = join(cli.folder, 'full');
    const args = ['batch', '-', '-o', out, '--concurrency', '2'];
    const input = addresses(30, 'full');
    await mkdir(out);
    await using disk = await smallDisk(out, 200);
    const { program } = disk;
    cli.front.renderer.bytes = Buffer.alloc(20_000);
    const { code, stderr } = await account.run(args, { input, program });
    expect(stderr).toMatch(
      /(The disk is full: .* could not be written|is larger than the file system allows)\. .* of 30 are done\. Run the same command again/,
    );
    expect(code).toBe(10);
    expect((await readdir(out)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    await disk.grow();
    expect((await account.run(args, { input })).code).toBe(0);
    expect(await pictures(out)).toHaveLength(30);
    await until('all captures to be settled', async () => (await account.usage()).inFlight === 0);
    expect((await account.usage()).tokensUsed).toBe(30);
  });

  test('when under a rate limit the disk is full first, and then its process is killed', async () => {
    const account = await cli.openAccount({ ratePerMinute: 240, burst: 2 });
    const out = join(cli.folder, 'all');
    const args = ['batch', '-', '-o', out, '--concurrency', '4'];
    const input = addresses(16, 'all');
    await mkdir(out);
    await using disk = await smallDisk(out, 150);
    cli.front.renderer.bytes = Buffer.alloc(20_000);
    const full = await account.run(args, { input, program: disk.program });
    expect(full.code).toBe(10);
    await disk.grow();

    const { child, result } = account.start(args, { input });
    await until('more of the batch to be done', async () => (await pictures(out)).length >= 9);
    child.kill('SIGKILL');
    expect((await result).signal).toBe('SIGKILL');
    const again = await account.run(args, { input });
    expect(again.stderr).toMatch(/^Going on: \d+ of 16 are done\./);
    expect(again.code).toBe(0);
    expect(full.stderr + again.stderr).toContain('for the rate limit');
    expect(await pictures(out)).toHaveLength(16);
    await until('all captures to be settled', async () => (await account.usage()).inFlight === 0);
    expect((await account.usage()).tokensUsed).toBe(16);
  });
});

test('a picture that was removed meanwhile is missing', async () => {
  const account = await cli.openAccount();
  const out = join(cli.folder, 'missing');
  const args = ['batch', '-', '-o', out, '--concurrency', '1'];
  const input = addresses(2, 'missing');
  let jobs = 0;
  cli.front.renderer.behaviour = async (job, renderer) => {
    if (++jobs === 2) await rm(join(out, 'example.com-missing-0.png'));
    await renderer.complete(job);
  };
  const { code, stdout } = await account.run(args, { input });
  expect(stdout.toString()).toMatch(/^1 of 2 captured.*\n1 missing: .*\nRun the same command again/);
  expect(code).toBe(1);
  expect(await account.run(args, { input })).toMatchObject({ code: 0 });
  expect(await pictures(out)).toHaveLength(2);
});

describe('a folder is locked', () => {
  const openLocked = async (name: string, lock: string) => {
    const folder = join(cli.folder, name);
    await mkdir(folder);
    await writeFile(join(folder, '.webcapture-batch.lock'), lock);
    await using _journal = await Journal.open(folder, 'https://example.com');
    return readFile(join(folder, '.webcapture-batch.lock'), 'utf8');
  };

  test('by a process of another host, whatever its number, and by one of this host', async () => {
    await expect(openLocked('other-host', `${process.pid} elsewhere`)).rejects.toThrow(
      /Process \d+ of elsewhere works on .*; if it is no longer running, remove .*\.lock\./,
    );
    await expect(openLocked('running', `${process.ppid} ${hostname()}`)).rejects.toThrow('works on');
    // Its owner is about to write its name.
    await expect(openLocked('begun', '')).rejects.toThrow('Another process works on');
  });

  test('and no longer when its process is gone', async () => {
    const gone = spawnSync('true').pid;
    expect(await openLocked('gone', `${gone} ${hostname()}`)).toBe(`${process.pid} ${hostname()}`);
    expect(await openLocked('restarted', `${process.pid} ${hostname()}`)).toBe(`${process.pid} ${hostname()}`);
    expect(await readdir(join(cli.folder, 'gone'))).toEqual(['.webcapture-batch.jsonl']);
  });
});

interface SmallDisk extends AsyncDisposable {
  /** Runs the command line where only that one finds no room. */
  readonly program: CommandOptions['program'];
  /** Makes room for all. */
  grow(): Promise<void>;
}

/** A folder with room for so many KiB. Where nothing may be mounted, no file can be that large instead. */
async function smallDisk(folder: string, kibibytes: number): Promise<SmallDisk> {
  const run = promisify(execFile);
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${kibibytes}k`, 'tmpfs', folder]);
  } catch {
    const limit = `ulimit -f 4; exec "$0" "$@"`;
    return {
      program: ['bash', '-c', limit, ...cli.program],
      grow: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  return {
    program: cli.program,
    grow: async () => void (await run('mount', ['-o', 'remount,size=10m', folder])),
    async [Symbol.asyncDispose]() {
      await run('umount', [folder]);
    },
  };
}

describe('a list', () => {
  test('may be hostile: names stay in the folder, text stays text', async () => {
    const account = await cli.openAccount();
    const out = join(cli.folder, 'hostile');
    const title = '</title><script>alert(1)</script>\u202egnp.exe\u001b[2J';
    cli.front.renderer.behaviour = async (job, renderer) => {
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
    expect((await readdir(cli.folder)).filter((name) => name.endsWith('.png'))).toEqual([]);
    const page = await readFile(join(out, 'index.html'), 'utf8');
    expect(page).not.toMatch(/<script|<img src=x|\u202e|\p{Cc}(?<!\n)/u);
    expect(page).toContain('\\u{202e}gnp.exe');
  });

  test('can be an index of compressed sitemaps by http; a failure is told, and the rest is captured', async () => {
    const account = await cli.openAccount();
    const out = join(cli.folder, 'sitemap');
    const site = join(cli.folder, 'site');
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
    cli.front.renderer.behaviour = (job, renderer) =>
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
    expect(cli.front.renderer.jobs.map(({ source }) => 'url' in source && source.url)).toContain(
      'https://example.com/one?a=1&b=2',
    );
  });

  test('that is a sitemap asks no other site, whatever it names or redirects to', async () => {
    const account = await cli.openAccount();
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
      account.run(['batch', list, '-o', join(cli.folder, name), ...flags], { input });

    const named = await run(`${site.url}/index.xml`, 'site-index');
    expect({ code: named.code, stdout: named.stdout.toString() }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^1 of 1 captured/) as string,
    });
    expect(named.stderr).toContain(`left out the sitemap "${inner.url}/child": only those of ${site.url} are read.`);

    const redirected = await run(`${site.url}/away`, 'site-away');
    expect(redirected.code).toBe(2);
    expect(redirected.stderr).toContain(
      `${site.url}/away redirects to another site, ${inner.url}/redirect. If you trust`,
    );

    const list = index(`${site.url}/own.xml`, `${inner.url}/child`);
    const piped = await run('-', 'site-piped', list, '--sitemap-origin', site.url);
    expect({ code: piped.code, stderr: piped.stderr }).toMatchObject({ code: 0 });
    // Without a word of the user's, a file chooses no address of this network.
    const unasked = await run('-', 'site-unasked', index(`${inner.url}/child`));
    expect(unasked.code).toBe(2);
    expect(unasked.stderr).toContain(
      `left out the sitemap "${inner.url}/child": it is not on the public internet. If you trust that address, use --sitemap-origin ${inner.url}.`,
    );
    expect(asked).toEqual([]);
  });
});

describe('an output folder of somebody else', () => {
  const uuid = '0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77';
  const first = (service: string) => ({ type: 'batch', version: 1, service, at: '2026-01-01T00:00:00.000Z' });
  const begun = (file: string) => ({ type: 'begun', id: 'a', key: 'k', file, url: 'https://example.com/' });
  const linesOf = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

  test('is refused and left as it is when its journal is none of a batch', async () => {
    const service = 'https://capture.example.com';
    const page = { title: '', format: 'png', width: 1, height: 1, httpStatus: 200, remarks: [] };
    const captured = { type: 'captured', id: 'a', uuid, fileUrl: 'http://evil.test/', ...page };
    const journals = [
      'SECRET=1\n',
      'a line that has no end',
      linesOf([begun('a.png'), captured]),
      linesOf([first(service), { type: 'unknown' }]),
      linesOf([first(service), begun('a.png'), { ...captured, uuid: '..' }]),
      ...['../.git-like/config', '/etc/x.png', 'a/../../x.png', 'C:\\x.png', '.git/x.png', 'index.html', ''].map(
        (file) => linesOf([first(service), begun(file), captured]),
      ),
    ];
    const folder = await mkdtemp(join(cli.folder, 'foreign-'));
    const path = join(folder, '.webcapture-batch.jsonl');
    for (const journal of journals) {
      await writeFile(path, journal);
      await expect(Journal.open(folder, service), journal).rejects.toMatchObject({
        kind: 'usage',
        message: expect.stringContaining('is not the journal of a batch') as string,
      });
      expect(await readFile(path, 'utf8')).toBe(journal);
    }
    // What was written whole is kept, also of a process that was killed at once.
    for (const [journal, states] of [
      [linesOf([first(service)]).slice(0, 30), 0],
      [`${linesOf([first(service), begun(`${'a'.repeat(120)}-100000.webp`)])}{"type":"sav`, 1],
    ] as const) {
      await writeFile(path, journal);
      await using opened = await Journal.open(folder, service);
      expect(opened.states.size).toBe(states);
    }
  });

  test('is refused when its journal is a link', async () => {
    const folder = await mkdtemp(join(cli.folder, 'linked-'));
    const target = join(cli.folder, 'of-the-user');
    await writeFile(target, '');
    await symlink(target, join(folder, '.webcapture-batch.jsonl'));
    await expect(Journal.open(folder, 'https://capture.example.com')).rejects.toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('is not a regular file') as string,
    });
    expect(await readFile(target, 'utf8')).toBe('');
  });

  test('chooses neither where files come from nor, with links, where they go', async () => {
    const account = await cli.openAccount();
    const asked: (string | undefined)[] = [];
    await using evil = await serve((request, response) => {
      asked.push(request.url);
      response.end('payload');
    });
    const out = join(cli.folder, 'steered');
    const picture = join(out, 'home.png');
    const input = '{"url": "https://example.com/steered", "file": "home"}\n';
    const batch = (env = {}, more = '') => account.run(['batch', '-', '-o', out], { input: input + more, env });
    expect(await batch()).toMatchObject({ code: 0 });
    const whole = await readFile(picture);

    /** As if the picture had not been saved, and its file were elsewhere. */
    const steer = async (changes: object) => {
      const path = join(out, '.webcapture-batch.jsonl');
      const lines = (await journalOf(out)).filter(({ type }) => type !== 'saved');
      await writeFile(path, linesOf(lines.map((line) => (line.type === 'captured' ? { ...line, ...changes } : line))));
      await rm(picture);
    };
    await steer({ fileUrl: `${evil.url}/payload` });
    expect(await batch()).toMatchObject({ code: 0 });
    expect(await readFile(picture)).toEqual(whole);

    const created = await account.run(['keys', 'create', 'may not read', '--scopes', 'capture']);
    await steer({ fileUrl: `${evil.url}/payload` });
    expect(await batch({ WEBCAPTURE_API_KEY: created.stdout.toString().trim() })).toMatchObject({ code: 0 });
    expect(await readFile(picture)).toEqual(whole);
    expect((await account.usage()).tokensUsed).toBe(1);

    await steer({ fileUrl: `${evil.url}/payload`, uuid });
    const outside = await mkdtemp(join(cli.folder, 'outside-'));
    await writeFile(join(outside, '.webcapture-0123456789ab.tmp'), 'of another program');
    await symlink(outside, join(out, 'sub'));
    const { code, stderr } = await batch({}, '{"url": "https://example.com/linked", "file": "sub/x"}');
    expect({ code, stderr }).toMatchObject({ code: 10, stderr: expect.stringContaining('sub is a link') as string });
    expect(await readdir(outside)).toEqual(['.webcapture-0123456789ab.tmp']);
    expect(asked).toEqual([]);
  });

  test('has no file that is written through a link, to a device or another file', async () => {
    const account = await cli.openAccount();
    const out = join(cli.folder, 'through-links');
    const batch = (file: string) =>
      account.run(['batch', '-', '-o', out], { input: `{"url": "https://example.com/${file}", "file": "${file}"}\n` });
    expect(await batch('first')).toMatchObject({ code: 0 });
    const { tokensUsed } = await account.usage();

    const target = join(cli.folder, 'of-somebody');
    await writeFile(target, 'as it was');
    for (const [file, to] of [
      ['device', '/dev/null'],
      ['linked', target],
    ] as const) {
      const path = join(out, `${file}.png`);
      await symlink(to, path);
      const { code, stderr } = await batch(file);
      expect({ code, stderr }).toMatchObject({
        code: 10,
        stderr: expect.stringContaining(`${path} is not a regular file`) as string,
      });
    }
    await rm(join(out, 'index.html'));
    await symlink('/dev/null', join(out, 'index.html'));
    const { code, stderr } = await batch('second');
    expect({ code, stderr }).toMatchObject({
      code: 10,
      stderr: expect.stringContaining('index.html is not a regular file') as string,
    });
    expect(await readFile(target, 'utf8')).toBe('as it was');
    // All of it is found out before a capture is paid for.
    expect((await account.usage()).tokensUsed).toBe(tokensUsed);
  });
});

async function serve(listener: RequestListener): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
