// @module-tag long
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { ProcessTable, treeBytes } from '../../../services/renderer/browser/process-tree.ts';
import { html, TestEngine, TestSite } from '../../harness/engine.ts';
import { brotliBomb, entityBomb, gzipBomb, pngBomb, zstdBomb, type Bomb } from './bombs.ts';

const mebibyte = 1024 * 1024;
const limits = { maxDownloadBytes: 16 * mebibyte, maxUploadBytes: 4 * mebibyte, maxConnections: 6 };
/** Timeout of pages that end long before it. */
const timeout = 30_000;
/** Timeout of pages that do not end. */
const shortTimeout = 1500;
/** Maximum time after the navigation, on a busy machine. */
const roomMs = 15_000;

let engine: TestEngine;
let site: TestSite;
let met: string[] = [];
let received = 0;
let held = 0;
let watch: NodeJS.Timeout;

const green = (body: string) => html(`<body style="background:#0a0">${body}`);

beforeAll(async () => {
  const bombs = new Map([gzipBomb(), await brotliBomb(), zstdBomb()].map((bomb) => [bomb.encoding, bomb]));
  const image = pngBomb(30_000);
  engine = await TestEngine.start({ slots: 2, captureLimits: { pageBytes: 512 * mebibyte } }, undefined, {
    limits,
    onLimit: (limit) => met.push(limit),
  });
  site = await TestSite.start({
    '/': green(''),
    '/endless': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      pour(response, `${green('')}<!--${'x'.repeat(65_536)}-->`);
    },
    '/dribble': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).write(green('begun'));
      const clock = setInterval(() => response.write('.'), 100);
      response.on('close', () => clearInterval(clock));
    },
    '/short': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html', 'content-length': 100_000 });
      response.write(green('<p>begun'), () => response.destroy());
    },
    '/short-chunk': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.write(green('<p>begun'), () => response.destroy());
    },
    // A hanging image delays the page until its connections are cut.
    '/fetches': green(`<img src="/hang"><script>
      fetch('/endless').then((r) => r.text()).catch(() => 0); fetch('/endless').then((r) => r.arrayBuffer()).catch(() => 0);
    </script>`),
    '/many': green(
      Array.from(
        { length: 30 },
        (_, i) => `<script>new WebSocket('ws://h${i}.test:' + location.port + '/hang')</script>`,
      ).join(''),
    ),
    '/hang': () => undefined,
    '/uploads': green(
      `<img src="/hang"><script>fetch('/sink', { method: 'POST', body: new Blob([new Uint8Array(64e6)]) }).catch(() => 0)</script>`,
    ),
    '/sink': (request) => request.on('data', (chunk: Buffer) => (received += chunk.length)),
    '/bomb': ({ url }, response) => {
      const { searchParams } = new URL(url ?? '', 'http://x');
      const bomb = bombs.get(searchParams.get('as') ?? '');
      if (bomb) explode(response, bomb, searchParams.get('type') ?? 'text/html');
    },
    '/image': green('<img src="/png" width=300>'),
    '/png': (_, response) => response.writeHead(200, { 'content-type': 'image/png' }).end(image),
    '/entities': (_, response) => response.writeHead(200, { 'content-type': 'text/xml' }).end(entityBomb),
    '/switches': green('<script src="/101"></script>'),
    '/101': ({ socket }) =>
      void socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nbytes'),
  });
  const table = new ProcessTable();
  watch = setInterval(() => {
    const tree = table.read([process.pid])?.[0]?.filter(({ pid }) => pid !== process.pid);
    held = Math.max(held, treeBytes(tree ?? []));
  }, 50);
});

afterAll(async () => {
  clearInterval(watch);
  await engine.close();
  await site.close();
});

beforeEach(() => {
  met = [];
  held = 0;
});

/** Writes chunks until the receiver disconnects. */
function pour(response: ServerResponse, chunk: Buffer | string, times = Infinity): void {
  let left = times;
  const more = () => {
    while (!response.destroyed && left > 0) {
      left -= 1;
      if (!response.write(chunk)) return;
    }
    if (left === 0) response.end();
  };
  response.on('drain', more).on('error', () => undefined);
  more();
}

function explode(response: ServerResponse, { encoding, head, repeated, times }: Bomb, type: string): void {
  response.writeHead(200, { 'content-type': type, 'content-encoding': encoding });
  response.write(head);
  pour(response, repeated, times);
}

/** Returns the outcome of a page that is captured concurrently with another one. */
async function captureBeside(path: string, ms = timeout) {
  const start = performance.now();
  const hard = engine.shoot(site.url(path), { timeout: ms }).then(
    ({ report, picture }) => ({ code: 'completed', message: '', report, color: picture.at(600, 400) }),
    (error: unknown) => {
      if (!(error instanceof ServiceError)) throw error;
      return { code: error.code, message: error.message, report: undefined, color: undefined };
    },
  );
  const other = await engine.shoot(site.url('/'));
  expect(other.picture.at(600, 400)).toBe('#00aa00');
  return { ...(await hard), ms: performance.now() - start };
}

describe('a page over the limits of one capture', () => {
  test('with an endless document is captured up to the limit', async () => {
    expect(await captureBeside('/endless')).toMatchObject({
      code: 'completed',
      color: '#00aa00',
      report: { softTimeouts: ['load'] },
    });
    expect(met).toEqual(['download']);
  });

  test('with endless downloads is captured, and the downloads end', async () => {
    expect(await captureBeside('/fetches')).toMatchObject({ code: 'completed', color: '#00aa00' });
    expect(met).toEqual(['download']);
  });

  test('with too many connections is captured, and the excess is refused', async () => {
    const { code, color } = await captureBeside('/many');
    expect({ code, color }).toEqual({ code: 'completed', color: '#00aa00' });
    expect(met).toEqual(['connections']);
  });

  test('with an endless upload is captured, and the upload ends', async () => {
    expect(await captureBeside('/uploads')).toMatchObject({ code: 'completed', color: '#00aa00' });
    expect(met).toEqual(['upload']);
    expect(received).toBeLessThan(2 * limits.maxUploadBytes);
  });
});

describe('an incomplete document', () => {
  test.each(['/short', '/short-chunk'])('is captured as far as received, without a wait: %s', async (path) => {
    const { code, color, report, ms } = await captureBeside(path);
    expect({ code, color, late: report?.softTimeouts }).toEqual({
      code: 'completed',
      color: '#00aa00',
      late: ['load'],
    });
    expect(ms).toBeLessThan(timeout / 2);
  });

  test('times out if it arrives in small pieces', async () => {
    // The document begins within this time.
    const { code, message, ms } = await captureBeside('/dribble', 4000);
    expect({ code, message }).toEqual({
      code: 'CAPTURE_TIMEOUT',
      message: expect.stringContaining('not complete within 4000 ms'),
    });
    expect(ms).toBeLessThan(4000 + roomMs);
  });

  test('is captured without a script whose response switches the protocol', async () => {
    const { code, color, report, ms } = await captureBeside('/switches');
    expect({ code, color, late: report?.softTimeouts }).toEqual({ code: 'completed', color: '#00aa00', late: [] });
    expect(ms).toBeLessThan(timeout / 2);
  });
});

describe('a decompression bomb ends in time, within the memory limit of a page', () => {
  /** Each bomb, with the outcome that its capture must have. */
  const bombs: readonly [path: string, ms: number, holds: (end: Awaited<ReturnType<typeof captureBeside>>) => void][] =
    [
      // A document of ten gigabytes is never complete: it times out or exceeds the memory limit.
      ['/bomb?as=gzip', shortTimeout, (end) => expect(end).toMatchObject(isTooMuch(end.code))],
      ['/bomb?as=zstd', shortTimeout, (end) => expect(end).toMatchObject(isTooMuch(end.code))],
      // A picture is shown as far as it was received.
      [
        '/bomb?as=br&type=image/png',
        shortTimeout,
        ({ code, report }) => {
          expect({ code, loaded: report?.images.loaded }).toEqual({ code: 'completed', loaded: 0 });
          expect(report?.softTimeouts).toContain('load');
        },
      ],
      // The page is captured without a picture that would decode to gigabytes.
      [
        '/image',
        timeout,
        ({ code, color, report }) =>
          expect({ code, color, images: report?.images }).toEqual({
            code: 'completed',
            color: '#00aa00',
            images: { loaded: 0, failed: 1, pending: 0 },
          }),
      ],
      // Chromium limits the depth of entities, and shows an error.
      [
        '/entities',
        timeout,
        ({ code, report }) => expect({ code, late: report?.softTimeouts }).toEqual({ code: 'completed', late: [] }),
      ],
    ];

  test.each(bombs)('%s', async (path, ms, holds) => {
    const end = await captureBeside(path, ms);
    holds(end);
    expect(end.ms).toBeLessThan(shortTimeout + roomMs);
    // Two browsers hold 320 MiB. The limit of a page is 512 MiB, and a page can allocate another 250 MiB until the next check.
    expect(held).toBeLessThan(1280 * mebibyte);
    expect(held).toBeGreaterThan(0);
  });

  const isTooMuch = (code: string) =>
    code === 'CAPTURE_FAILED'
      ? { code, message: expect.stringMatching(/memory|crashed/) as string }
      : {
          code: 'CAPTURE_TIMEOUT',
          message: expect.stringMatching(/(not complete|not answer) within 1500 ms/) as string,
        };
});
