// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { html, TestEngine, TestSite, type ShotOptions } from '../harness/engine.ts';
import { Picture } from '../harness/picture.ts';
import { until } from '../harness/until.ts';
import {
  lookAfterWipe,
  plantingHeaders,
  plantReused,
  plantWorker,
  queryOf,
  statePage,
  StateReports,
  type Found,
} from '../harness/state-pages.ts';

const secret = 'planted-77c1d0';

let engine: TestEngine;
let site: TestSite;
let captures = 0;

const reports = new StateReports();
/** Requests whose responses arrive when their page is gone. */
const late: (() => void)[] = [];
let logins = 0;
let letLoop: (() => void) | undefined;
const loops = Promise.withResolvers<void>();

beforeAll(async () => {
  site = await TestSite.start({
    ...reports.routes,
    '/plant': (_, response) => {
      response.writeHead(200, plantingHeaders(secret));
      response.end(statePage(`(${plantReused.toString()})('${secret}')`));
    },
    '/plant-worker': (request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(statePage(`(${plantWorker.toString()})('${secret}', '${queryOf(request, 'kind')}')`));
    },
    // The browser gives such a document a separate process, which the empty document of a used page does not share.
    '/isolated': (_, response) => {
      const isolation = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };
      response.writeHead(200, { 'content-type': 'text/html', ...isolation });
      response.end(statePage('Promise.resolve({})'));
    },
    '/look': statePage(`(${lookAfterWipe.toString()})()`, '<a href="/plant?by=planter">x</a>'),
    '/echo.js': (_, response) =>
      response
        .writeHead(200, { 'content-type': 'text/javascript' })
        .end('(self.onconnect = ({ ports: [port] }) => port.postMessage(1)), self.postMessage?.(1);'),
    '/store': html(`<script>localStorage.setItem('x', location.search)</script>`),
    '/go-on': html(`<script>sessionStorage.setItem('x', 'y'); location.port || 0;
      location.replace(location.href.replace('127.0.0.1', 'localhost').replace('go-on', 'plain'))</script>`),
    '/plain': html('<body style="background:#0a0"><p>text'),
    '/loops': html(`<body style="background:#0a0"><script>
      onload = () => setTimeout(() => fetch('/loop').then(() => { navigator.sendBeacon('/looping'); for (;;); }), 50);
    </script>`),
    '/loop': (_, response) => void (letLoop = () => response.end()),
    '/looping': (_, response) => {
      loops.resolve();
      response.end();
    },
    '/private': ({ headers: { authorization } }, response) => {
      const head = { 'content-type': 'text/html', 'www-authenticate': 'Basic realm="x"' };
      if (authorization) logins += 1;
      response.writeHead(authorization ? 200 : 401, head).end(html('text'));
    },
    '/log-in': (request, response) => {
      const logIn = {
        location: 'location.replace(address)',
        socket: `new WebSocket(address.replace('http', 'ws')).onerror = () => 0`,
        script: 'const x = new XMLHttpRequest(); x.open("GET", "/private", true, "user", "password"); x.send()',
      }[queryOf(request, 'by')];
      const address = `location.origin.replace('//', '//user:password@') + '/private'`;
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(html(`<p>text<script>const address = ${address}; ${logIn}</script>`));
    },
    '/never': () => undefined,
    '/late': (_, response) => {
      late.push(() => response.writeHead(200, { 'set-cookie': `late=${secret}; Max-Age=9999` }).end());
    },
  });
  engine = await TestEngine.start({ slots: 1 });
});

afterAll(async () => {
  await engine.close();
  await site.close();
});

/** The captures are sequential: the page of a capture is settled before the next one starts. */
async function capture(path: string, reuseFor: string | undefined, options = {}) {
  const before = engine.pages.length;
  const by = `capture-${(captures += 1)}`;
  const rendering = await engine.render(
    `${site.url(path)}${path.includes('?') ? '&' : '?'}by=${by}`,
    options,
    reuseFor === undefined ? {} : { reuseFor },
  );
  const told = () => engine.pages.slice(before).filter((outcome) => outcome !== 'reused');
  if (reuseFor !== undefined) await until('its page to be settled', () => told().length > 0);
  const outcomes = engine.pages.slice(before);
  return {
    facts: reports.get(by) ?? {},
    isReused: outcomes.includes('reused'),
    outcome: outcomes.at(-1),
    picture: () => Picture.of(rendering.bytes),
    rendering,
  };
}

describe('a reused page', () => {
  const wanted = { viewport: { width: 500, height: 400 } };
  let fresh: Found;
  /** A reused page has been at an empty document of the same site. */
  let reused: Found;

  beforeAll(async () => {
    ({ facts: fresh } = await capture('/look', undefined, wanted));
    expect(fresh).toMatchObject({ cookies: '', localStorage: [], windowName: '', entries: 1 });
    reused = { ...fresh, entries: 2 };
  });

  test.each<readonly [string, ShotOptions]>([
    ['of a normal picture', {}],
    ['with other visitor options', { colorScheme: 'dark', reducedMotion: true, media: 'print', omitBackground: true }],
    ['of a large page', { isFullPage: true, viewport: { width: 900, deviceScaleFactor: 2 }, hide: ['a'] }],
    ['on paper', { format: 'pdf' }],
  ])('shows no state of a capture %s', async (name, options) => {
    const planted = await capture('/plant', name, options);
    expect(planted.facts).toMatchObject({ plain: expect.stringContaining('plain='), historyLength: 5 });
    expect(planted.outcome).toBe('wiped');
    const looked = await capture('/look', name, wanted);
    expect(looked).toMatchObject({ isReused: true, outcome: 'wiped' });
    expect(looked.facts).toEqual(reused);
    expect((await looked.picture()).at(50, 50)).toBe('#00aa00');
    expect(looked.rendering.report).toMatchObject({ blockedRequests: 0, images: { failed: 1 } });
    // The late responses to its requests set no cookie.
    for (const answer of late.splice(0)) answer();
    const lookedAgain = await capture('/look', name, wanted);
    expect(lookedAgain.isReused).toBe(true);
    expect(lookedAgain.facts).toEqual(reused);
  });

  test('is not used for another account, or for a capture with another isolation', async () => {
    expect((await capture('/plant', 'one')).outcome).toBe('wiped');
    for (const account of ['two', undefined, 'three', undefined]) {
      const { isReused, facts } = await capture('/look', account, wanted);
      expect(isReused).toBe(false);
      expect(facts).toEqual(fresh);
    }
  });

  test.each([
    ['a visitor', { locale: 'de-DE', timezone: 'Asia/Tokyo' }],
    ['a place', { geolocation: { latitude: 1, longitude: 2, accuracy: 3 } }],
    ['clicks', { click: ['p'] }],
    ['no scripts', { javaScript: false }],
    ['errors of TLS ignored', { ignoreTlsErrors: true }],
  ])('is not one that was captured with %s', async (name, options) => {
    const before = engine.pages.length;
    await engine.render(site.url('/plain'), options, { reuseFor: name });
    expect(engine.pages.slice(before)).toEqual([]);
    expect((await capture('/look', name, wanted)).facts).toEqual(fresh);
  });

  test.each([
    ['its own address', '/private'],
    ['the address of its next document', '/log-in?by=location'],
    ['a request of a script', '/log-in?by=script'],
    ['the address of a WebSocket', '/log-in?by=socket'],
  ])('is not one with a name and a password in %s, which would log in the next capture', async (name, path) => {
    const [pages, before] = [engine.pages.length, logins];
    const url = site.url(path);
    const isOwn = path === '/private';
    await engine.render(isOwn ? url.replace('//', '//user:password@') : url, {}, { reuseFor: name });
    expect(logins).toBeGreaterThan(before);
    const { report } = await engine.render(site.url('/private'), {}, { reuseFor: name });
    expect(report.httpStatus).toBe(401);
    await until('both pages to be settled', () => engine.pages.length >= pages + 2);
    expect(engine.pages.slice(pages)).toEqual(['refused', 'wiped']);
  });

  test.each([
    ['a service worker', '/plant-worker?kind=service'],
    ['a shared worker', '/plant-worker?kind=shared'],
    ['a worker', '/plant-worker?kind=dedicated'],
    ['a frame of another site', '/plant-worker?kind=frame'],
    ['a document of another site', '/go-on'],
    ['a cross-origin isolated document, in a separate process', '/isolated'],
  ])('is not one that had %s', async (name, path) => {
    const planted = await capture(path, name);
    expect(planted.facts).not.toHaveProperty('error');
    expect(planted.outcome).toBe('refused');
    const looked = await capture('/look', name, wanted);
    expect(looked.isReused).toBe(false);
    expect(looked.facts).toEqual(fresh);
  });

  test('is not one that failed, or whose scripts cannot be stopped', async () => {
    const failing = capture('/plain', 'hangs', { failOn: { status: [200] } });
    await expect(failing).rejects.toThrow();
    const answered = Promise.withResolvers<void>();
    const before = engine.pages.length;
    await engine.render(site.url('/loops'), {}, { reuseFor: 'hangs', answered: answered.promise });
    await until('its script to be waiting', () => letLoop !== undefined);
    letLoop?.();
    await loops.promise;
    answered.resolve();
    await until('its page to be closed', () => engine.pages.length > before);
    expect(engine.pages.slice(before)).toEqual(['failed']);
    const looked = await capture('/look', 'hangs', wanted);
    expect(looked.isReused).toBe(false);
    expect(looked.facts).toEqual(fresh);
  });
});
