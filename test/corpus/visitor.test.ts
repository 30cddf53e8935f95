import { text } from 'node:stream/consumers';
import type { IncomingHttpHeaders } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { html, TestSite, type Handler, type ShotOptions, type TestEngine } from '../harness/engine.ts';
import { describeUserAgent } from '../../services/renderer/page/user-agent.ts';
import { corpusEngine } from './corpus.ts';
import { portraySelf, type SelfPortrait } from './probe/portray-self.ts';

let engine: TestEngine;

beforeAll(async () => {
  engine = await corpusEngine();
});

/** Values that pages and workers read of the browser, in addition to {@link portraySelf}. */
interface Portrait extends SelfPortrait {
  readonly offset: number;
  readonly number: string;
  readonly hasHints: boolean;
}

interface Told {
  /** Portraits by reader: `page`, `frame`, `foreign` (a frame of another site), `worker`, `foreign-worker`, `service-worker`. */
  readonly portraits: Readonly<Record<string, Portrait>>;
  /** The location: coordinates, or the reason why there are none. */
  readonly place: unknown;
  readonly permissions: unknown;
  /** Headers of the first request of each path. */
  readonly headers: Readonly<Record<string, IncomingHttpHeaders>>;
}

const portrait = `(async () => ({
  ...await (${portraySelf.toString()})(),
  offset: new Date(0).getTimezoneOffset(),
  number: (1234.5).toLocaleString(),
  hasHints: 'userAgentData' in navigator,
}))()`;

const tell = (who: string) =>
  `${portrait}.then((told) => fetch('/tell?${who}', { method: 'POST', body: JSON.stringify(told) }))`;

/** The picture of a page arrives when all expected reports have arrived. */
const page = (foreign: string) =>
  html(`<img src="/told.png"><iframe src="/frame"></iframe><iframe src="${foreign}"></iframe><script type="module">
    const send = (who, told) => fetch('/tell?' + who, { method: 'POST', body: JSON.stringify(told) });
    new Worker('/worker.js');
    await navigator.serviceWorker.register('/service-worker.js');
    const state = async (name) => (await navigator.permissions.query({ name })).state;
    await send('permissions', [await state('geolocation'), await state('notifications')]);
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => send('place', [coords.latitude, coords.longitude, coords.accuracy]),
      ({ message }) => send('place', message),
    );
    await ${tell('page')};
  </script>`);

const framed = html(`<script>${tell('frame')}</script>`);
const foreign = html(`<script>${tell('foreign')}; new Worker('/foreign-worker.js')</script>`);

const awaited = ['page', 'frame', 'foreign', 'worker', 'foreign-worker', 'service-worker', 'permissions', 'place'];

/** Returns the values that a site at localhost, and a site in a frame of it, read in a capture. */
async function visited(options: ShotOptions): Promise<Told> {
  const told = new Map<string, unknown>();
  const headers: Record<string, IncomingHttpHeaders> = {};
  let release = () => {};
  const answers =
    (type: string, body: () => string): Handler =>
    (request, response) => {
      headers[request.url ?? ''] ??= request.headers;
      // The header requests client hints that browsers do not send by default.
      response.writeHead(200, { 'content-type': type, 'accept-ch': 'Sec-CH-UA-Full-Version-List' }).end(body());
    };
  const script = (who: string) => answers('text/javascript', () => tell(who));
  const document = (body: () => string) => answers('text/html', body);
  const site: TestSite = await TestSite.start({
    // This page leads to another site, which runs in a separate process in the full browser.
    '/moving': document(() => html(`<script>location.replace('${site.url('/', 'localhost')}')</script>`)),
    '/': document(() => page(site.url('/foreign'))),
    '/frame': document(() => framed),
    '/foreign': document(() => foreign),
    '/worker.js': script('worker'),
    '/foreign-worker.js': script('foreign-worker'),
    '/service-worker.js': script('service-worker'),
    '/told.png': (_request, response) => {
      release = () => response.end();
      if (awaited.every((who) => told.has(who))) release();
    },
    '/tell': (request, response) => {
      const who = request.url?.split('?')[1] ?? '';
      headers[`told by ${who}`] ??= request.headers;
      void text(request).then((body) => {
        told.set(who, JSON.parse(body));
        response.end();
        if (awaited.every((each) => told.has(each))) release();
      });
    },
  });
  try {
    const { report } = await engine.render(site.url('/moving'), options);
    expect(report.softTimeouts, `told by ${[...told.keys()].join()}`).toEqual([]);
    const { place, permissions, ...portraits } = Object.fromEntries(told);
    return { portraits: portraits as Record<string, Portrait>, place, permissions, headers };
  } finally {
    await site.close();
  }
}

const windows =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
const safari =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';

const everywhere = ['page', 'frame', 'foreign', 'worker', 'foreign-worker'];

describe.each([false, true])('a visitor from elsewhere, with antiBot %s,', (antiBot) => {
  let seen: Told;
  beforeAll(async () => {
    const geolocation = { latitude: 35.68, longitude: 139.76, accuracy: 25 };
    // Blocking also affects frames and workers.
    const block = { ...blockNothing, ads: antiBot };
    seen = await visited({ antiBot, block, locale: 'de-DE', timezone: 'Asia/Tokyo', geolocation, userAgent: windows });
  });

  test.each([...everywhere, 'service-worker'])('has its language and time zone in the %s', (who) => {
    expect(seen.portraits[who]).toMatchObject({
      languages: ['de-DE', 'de'],
      locale: 'de-DE',
      number: '1.234,5',
      timeZone: 'Asia/Tokyo',
      offset: -540,
    });
  });

  test.each(everywhere)('has its browser in the %s', (who) => {
    expect(seen.portraits[who]).toMatchObject({
      userAgent: windows,
      brands: expect.arrayContaining([{ brand: 'Google Chrome', version: '140' }]) as unknown,
      hints: {
        architecture: 'x86',
        bitness: '64',
        platform: 'Windows',
        platformVersion: '10.0.0',
        fullVersionList: expect.arrayContaining([{ brand: 'Chromium', version: '140.0.0.0' }]) as unknown,
      },
    });
    expect(JSON.stringify(seen.portraits[who])).not.toMatch(/156|Headless/);
  });

  test.each(['page', 'frame', 'foreign'])('has the platform of its browser in the %s', (who) => {
    expect(seen.portraits[who]?.platform).toBe('Win32');
  });

  test.each([
    '/',
    '/frame',
    '/foreign',
    '/worker.js',
    '/foreign-worker.js',
    ...everywhere.map((who) => `told by ${who}`),
  ])('sends its headers: %s', (request) => {
    expect(seen.headers[request]).toMatchObject({ 'accept-language': 'de-DE,de;q=0.9', 'user-agent': windows });
  });

  test('sends the client hints of its browser', () => {
    const platform = { 'sec-ch-ua-platform': '"Windows"', 'sec-ch-ua-mobile': '?0' };
    for (const path of ['/', '/frame', '/foreign']) {
      expect(seen.headers[path]).toMatchObject(platform);
      expect(seen.headers[path]?.['sec-ch-ua']).toContain('"Google Chrome";v="140"');
    }
    expect(seen.headers['/frame']?.['sec-ch-ua-full-version-list']).toContain('"Chromium";v="140.0.0.0"');
  });

  test('has its location, and no other permission', () => {
    expect(seen.place).toEqual([35.68, 139.76, 25]);
    expect(seen.permissions).toEqual(['granted', 'prompt']);
  });
});

test('the next capture keeps no values of the previous one, and a language alone changes nothing else', async () => {
  const next = await visited({});
  const own = next.portraits['page'];
  expect(own).toMatchObject({ languages: ['en-US'], locale: 'en-US', platform: 'Linux x86_64', hasHints: true });
  expect(own?.timeZone).not.toBe('Asia/Tokyo');
  expect(own?.userAgent).toContain('HeadlessChrome');
  // The client hints for a user agent are derived like those of the installed browser.
  const likeIt = describeUserAgent(own?.userAgent.replace('Headless', '') ?? '');
  expect(likeIt.userAgentMetadata?.brands.map(({ brand }) => brand.replace('Google ', 'Headless'))).toEqual(
    own?.brands.map(({ brand }) => brand),
  );
  expect(next.place).toMatch(/denied/);
  expect(next.headers['/']?.['accept-language']).toBeUndefined();

  const french = await visited({ locale: 'fr' });
  const { languages, locale, number, ...rest } = french.portraits['page'] ?? {};
  expect({ languages, locale }).toEqual({ languages: ['fr'], locale: 'fr' });
  expect(number).not.toBe(own?.number);
  expect(own).toMatchObject(rest);
  expect(french.headers['/']?.['sec-ch-ua']).toBe(next.headers['/']?.['sec-ch-ua']);
  expect(french.headers['/']?.['accept-language']).toBe('fr');
});

test('a user agent without client hints sends no client hints', async () => {
  const seen = await visited({ userAgent: safari });
  for (const who of ['page', 'frame', 'foreign']) {
    expect(seen.portraits[who]).toMatchObject({ userAgent: safari, platform: 'iPhone', hasHints: false });
  }
  for (const [request, headers] of Object.entries(seen.headers)) {
    if (!/service-worker/.test(request)) expect(Object.keys(headers).join(), request).not.toContain('sec-ch');
  }
});
