import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { compileFilters } from '../../../deploy/filters/compile.ts';
import { downloadLists } from '../../../deploy/filters/download-lists.ts';
import { fetchLists } from '../../../deploy/filters/fetch-lists.ts';
import { kindsOf } from '../../../deploy/filters/filter-list.ts';
import { engineVersion } from '../../../services/renderer/blocking/filter-engine.ts';
import { judgeRequest } from '../../../services/renderer/blocking/requests.ts';
import { FilterSetError, loadBlocker } from '../../../services/renderer/blocking/blocker.ts';

const block = { ...blockNothing, ads: true, trackers: true, cookieBanners: true };
const script = (url: string) => ({
  url,
  resourceType: 'Script',
  documentUrl: 'https://www.site.test/',
  isMainDocument: false,
});

describe('filter sets', () => {
  let folder: string;
  let lines: string[];
  const log = (line: string) => lines.push(line);
  const lists = () => join(folder, 'own');
  const outDir = () => join(folder, 'out');
  const compile = () => compileFilters({ outDir: outDir(), listsDir: lists(), log });

  const logged: { level: number; msg: string }[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      logged.push(JSON.parse(chunk.toString()) as { level: number; msg: string });
      done();
    },
  });
  const load = (path?: string) => loadBlocker({ path, log: pino(sink) });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'webcapture-filter-sets-'));
    lines = [];
    logged.length = 0;
    await mkdir(lists());
    await writeFile(join(lists(), 'my-ads.txt'), '||my-ads.test^\n');
    await writeFile(join(lists(), 'my-privacy.txt'), '||my-tracker.test^\n');
    await writeFile(join(lists(), 'my-cookies.txt'), '||my-consent.test^\n');
    await writeFile(join(lists(), 'unbreak.txt'), '@@||my-tracker.test/needed.js\n');
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('are compiled, with the built-in list, to files that the renderer loads and blocks by', async () => {
    const { path, rules, sources } = await compile();
    expect(rules).toBeGreaterThan(500);
    expect(sources.join()).toContain('my-privacy.txt');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`${rules} rules`);

    const { engines } = await load(path);
    const judge = (url: string) => judgeRequest(script(url), block, engines);
    expect(judge('https://my-ads.test/a.js')).toBe('ads');
    expect(judge('https://my-tracker.test/a.js')).toBe('trackers');
    expect(judge('https://my-tracker.test/needed.js')).toBe(null);
    expect(judge('https://my-consent.test/a.js')).toBe('cookieBanners');
    expect(judge('https://ad.doubleclick.net/a.js')).toBe('ads');
    expect(judge('https://www.google-analytics.com/analytics.js')).toBe('trackers');
    expect(logged.filter(({ level }) => level > 30)).toEqual([]);
  });

  it('are compiled again only when a list changes or a compiled file is damaged', async () => {
    const first = await compile();
    const file = join(first.path, 'ads.engine');
    const { mtimeMs } = await stat(file);
    expect(await compile()).toEqual(first);
    expect((await stat(file)).mtimeMs).toBe(mtimeMs);
    expect(lines.at(-1)).toContain('unchanged');

    await writeFile(join(lists(), 'my-ads.txt'), '||my-ads.test^\n||more-ads.test^\n');
    expect((await compile()).rules).toBe(first.rules + 1);

    await writeFile(file, (await readFile(file)).subarray(0, 1000));
    await expect(load(first.path)).rejects.toThrow(FilterSetError);
    await compile();
    await load(first.path);
  });

  it('that were compiled for another version of the engine are refused with the command that compiles them again', async () => {
    const { path } = await compile();
    const manifest = JSON.parse(await readFile(join(path, 'manifest.json'), 'utf8')) as object;
    await writeFile(join(path, 'manifest.json'), JSON.stringify({ ...manifest, engineVersion: 1 }));
    await expect(load(path)).rejects.toThrow(
      `compiled for version 1 of the engine; this renderer has version ${engineVersion}. Compile them again: node deploy/filters/cli.ts ${path}`,
    );
  });

  it.each([undefined, '/nowhere/at/all'])(
    'that do not exist (%s) are replaced by the built-in list, with a warning',
    async (path) => {
      const { engines, sources } = await load(path);
      expect(judgeRequest(script('https://ad.doubleclick.net/a.js'), block, engines)).toBe('ads');
      expect(judgeRequest(script('https://static.hotjar.com/c/hotjar.js'), block, engines)).toBe('trackers');
      expect(sources).toEqual(['built-in list']);
      expect(logged.map(({ level }) => level)).toEqual([40]);
    },
  );

  it('kindsOf derives the kinds of a list from its file name', () => {
    expect(kindsOf('easylist.txt')).toEqual(['ads']);
    expect(kindsOf('easyprivacy.txt')).toEqual(['trackers']);
    expect(kindsOf('easylist-cookie.txt')).toEqual(['cookies']);
    expect(kindsOf('privacy.min.txt')).toEqual(['trackers']);
    expect(kindsOf('easylist-chat.txt')).toEqual(['chats']);
    expect(kindsOf('easylist-newsletters.txt')).toEqual(['newsletters']);
    expect(kindsOf('unbreak.min.txt')).toEqual(['ads', 'trackers', 'cookies', 'chats', 'newsletters']);
  });

  it('fetchLists uses the first source that works, and keeps its lists', async () => {
    const collection = { source: 'second', lists: [{ name: 'easylist.txt', text: '||x.test^' }] };
    let asked = 0;
    const ways = [
      { name: 'first', fetch: () => Promise.reject(new Error('no network\nmore')) },
      { name: 'second', fetch: () => Promise.resolve(((asked += 1), collection)) },
    ];
    const kept = join(folder, 'kept');
    expect(await fetchLists(kept, log, ways)).toEqual(collection);
    expect(lines).toEqual(['filter lists: none by first (no network)']);
    expect(await fetchLists(kept, log, ways)).toEqual(collection);
    expect(asked).toBe(1);
  });

  it('fetchLists returns null when all sources fail, and does not try again at once', async () => {
    let asked = 0;
    const ways = [{ name: 'only', fetch: () => ((asked += 1), Promise.reject(new Error('no'))) }];
    const kept = join(folder, 'kept');
    expect(await fetchLists(kept, log, ways)).toBe(null);
    expect(await fetchLists(kept, log, ways)).toBe(null);
    expect(asked).toBe(1);
  });

  it('downloadLists refuses a response that is not a filter list', async () => {
    const server = createServer((request, response) => {
      if (request.url === '/list') response.end('[Adblock Plus 2.0]\n||x.test^');
      else response.end('<html>Sign in to the network</html>');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const at = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
    try {
      const list = { name: 'a.txt', url: at('/list') };
      const portal = { name: 'b.txt', url: at('/portal') };
      expect((await downloadLists([list, { ...portal, optional: true }])).lists).toEqual([
        { name: 'a.txt', text: '[Adblock Plus 2.0]\n||x.test^' },
      ]);
      await expect(downloadLists([list, portal])).rejects.toThrow('is not a filter list');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
