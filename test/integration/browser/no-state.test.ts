import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestEngine, TestSite } from '../../harness/engine.ts';
import { Picture } from '../../harness/picture.ts';
import {
  lookForState,
  nothing,
  plantingHeaders,
  plantState,
  queryOf,
  statePage,
  StateReports,
  talk,
  type Found,
} from '../../harness/state-pages.ts';

/** This text is unique, so that a page must have written any file that contains it. */
const secret = 'planted-5f2c91d07b';

let engine: TestEngine;
let site: TestSite;
let folder: string;
let before: string | undefined;

const reports = new StateReports();
/** Connections that served each page, by the name of the page. */
const connections = new Map<string, Set<unknown>>();
/** Pending responses to pages that wait for each other. */
const both: (() => void)[] = [];
let served = 0;

const nameOf = (request: IncomingMessage) =>
  (queryOf(request, 'by') || new URL(request.headers.referer ?? 'http://x').searchParams.get('by')) ?? '';

const page = (script: (by: string, secret: string) => unknown, body = '') =>
  statePage(`(${script.toString()})(by, '${secret}')`, body);

beforeAll(async () => {
  before = process.env.TMPDIR;
  folder = await mkdtemp(join(tmpdir(), 'wc-'));
  process.env.TMPDIR = folder;
  site = await TestSite.start({
    ...reports.routes,
    '/plant': (request, response) => {
      note(request);
      response.writeHead(200, plantingHeaders(secret));
      response.end(page(plantState));
    },
    '/look': (request, response) => {
      note(request);
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(page(lookForState, '<a href="/plant?by=planter">x</a>'));
    },
    '/talk': page(talk),
    '/cached': (request, response) => {
      note(request);
      response.writeHead(200, { 'cache-control': 'public, max-age=99999', etag: '"x"' });
      response.end(String((served += 1)));
    },
    '/auth': ({ headers: { authorization } }, response) =>
      response.writeHead(authorization ? 200 : 401, { 'www-authenticate': 'Basic realm="x"' }).end(),
    '/shared-worker.js': (_, response) =>
      response
        .writeHead(200, { 'content-type': 'text/javascript' })
        .end(
          `const heard = []; onconnect = ({ ports: [port] }) => port.onmessage = ({ data }) => { heard.push(data); port.postMessage(heard); };`,
        ),
    // Responds when both requests have arrived.
    '/both': (_, response) => {
      both.push(() => response.end());
      if (both.length === 2) for (const go of both.splice(0)) go();
    },
  });
  // One slot has browsers for two captures at the same time.
  engine = await TestEngine.start();
});

afterAll(async () => {
  await engine.close();
  await site.close();
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  await rm(folder, { recursive: true });
});

function note(request: IncomingMessage): void {
  const by = nameOf(request);
  connections.set(by, (connections.get(by) ?? new Set()).add(request.socket));
}

async function capture<T>(path: string, by: string, options = {}, secrets: CaptureSecrets = {}) {
  const rendering = await engine.render(`${site.url(path)}?by=${by}`, options, { secrets });
  if (reports.get(by) === undefined) throw new Error(`${by} did not report`);
  return { facts: reports.get(by) as T, picture: await Picture.of(rendering.bytes) };
}

/** Ignores missing folders, as a running browser may remove them. */
async function filesBelow(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  const below = entries.map(async (entry) => {
    const inside = join(path, entry.name);
    return entry.isDirectory() ? filesBelow(inside) : entry.isFile() ? [inside] : [];
  });
  return (await Promise.all(below)).flat();
}

async function filesWithSecret(): Promise<string[]> {
  const files = await filesBelow(folder);
  const texts = await Promise.all(files.map((path) => readFile(path, 'latin1').catch(() => '')));
  expect(files.length).toBeGreaterThan(0);
  return files.filter((_, index) => texts[index]?.includes(secret));
}

describe.each([{ antiBot: false }, { antiBot: true }])('with antiBot $antiBot', (options) => {
  const name = (by: string) => `${by}-${options.antiBot}`;

  test('a capture finds no state of the previous one', async () => {
    const planted = await capture<Found>('/plant', name('planter'), options, {
      cookies: [{ name: 'given', value: secret, httpOnly: true }],
      headers: { 'X-Given': secret },
      css: 'a { background: #f00 !important }',
    });
    // The planted state can be found by the page that planted it.
    for (const place of Object.keys(nothing)) expect(planted.facts[place], place).not.toEqual(nothing[place]);
    const { headers } = planted.facts;
    expect(headers).toMatchObject({ cookie: expect.stringMatching(/^(?=.*partitioned=)(?=.*given=)/), given: secret });
    const looked = await capture<Found>('/look', name('looker'), options);
    expect(looked.facts).toMatchObject(nothing);
    // The HTTP cache is empty: the server received another request, over a new connection.
    expect(looked.facts['cached']).toBe(String(Number(planted.facts['cached']) + 1));
    const [used = new Set(), usedNow = new Set()] = [name('planter'), name('looker')].map((by) => connections.get(by));
    expect([...usedNow].filter((connection) => used.has(connection))).toEqual([]);
    expect(usedNow.size).toBeGreaterThan(0);
    // If the page used the visited link, or the style sheet of the other capture, the box would be red.
    expect(looked.picture.at(50, 50)).toBe('#00aa00');
    expect(await filesWithSecret()).toEqual([]);
  });

  test('concurrent captures of the same page do not reach each other', { tags: 'long' }, async () => {
    const names = [name('one'), name('two')];
    const captures = await Promise.all(names.map((by) => capture('/talk', by, options)));
    for (const [index, { facts }] of captures.entries()) {
      const heard = ['channel', 'key', 'lock', 'worker'].map((place) => `${place} ${names[index]}`);
      expect(facts).toEqual({ heard });
    }
  });
});
