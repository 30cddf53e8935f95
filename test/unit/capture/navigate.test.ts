import { createServer as createTcpServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ShotOptions } from '../../harness/engine.ts';
import { html, TestEngine, TestSite } from '../../harness/engine.ts';

let engine: TestEngine;
let site: TestSite;
let other: TestSite;

beforeAll(async () => {
  engine = await TestEngine.start();
  other = await TestSite.start({ '/': html('<p>other', '<title>Other</title>') });
  site = await TestSite.start({
    '/': html('<p>hello'),
    '/gone': (_, response) => response.writeHead(404, { 'content-type': 'text/html' }).end(html('<h1>not here')),
    '/empty-404': (_, response) => response.writeHead(404).end(),
    '/broken': (_, response) => response.writeHead(503, { 'content-type': 'text/html' }).end(html('<h1>down')),
    '/redirect': (_, response) => response.writeHead(302, { location: '/?from=redirect' }).end(),
    '/redirect-to-file': (_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    '/redirect-to-private': (_, response) => response.writeHead(302, { location: 'http://10.1.2.3/secret' }).end(),
    '/redirect-for-ever': (_, response) => response.writeHead(302, { location: '/redirect-for-ever' }).end(),
    '/script-redirect': html(`<script>location.replace('/?from=script')</script>`),
    '/late-redirect': html(
      `<script>addEventListener('load', () => setTimeout(() => location.replace('/?late'), 0))</script>`,
    ),
    '/meta-redirect': html('', '<meta http-equiv="refresh" content="0;url=/?from=meta">'),
    '/script-to-file': html(`<p>stays<script>try { location = 'file:///etc/passwd' } catch {}</script>`),
    '/script-to-private': html(`<script>location.replace('http://10.1.2.3/')</script>`),
    '/download': (_, response) =>
      response.writeHead(200, { 'content-type': 'application/zip', 'content-disposition': 'attachment' }).end('PK'),
    '/nothing': (_, response) => response.writeHead(204).end(),
    '/reset': (request) => request.socket.destroy(),
    '/never': () => undefined,
    '/text': (_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('just text'),
    '/drip': (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).write('<h1>begun'),
    '/hanging-head-script': html('<p>after', '<script src="/never"></script>'),
    '/hanging-stylesheet': html('<body style="background:#0a0">', '<link rel="stylesheet" href="/never">'),
    '/hanging-image': html('<body style="background:#0a0"><img src="/never">'),
    '/polling': html(`<body style="background:#0a0"><script>setInterval(() => fetch('/?poll'), 100)</script>`),
    '/quick': html(`<script>setTimeout(() => document.body.style.background = '#0a0', 8000)</script>`),
  });
});

afterAll(async () => {
  await engine.close();
  await Promise.all([site.close(), other.close()]);
});

async function failure(path: string, options: ShotOptions = {}) {
  const start = performance.now();
  const error = await engine.render(path.startsWith('/') ? site.url(path) : path, options).then(
    () => expect.unreachable('it should have failed'),
    (thrown: unknown) => thrown as { code: string; message: string },
  );
  return { code: error.code, message: error.message, ms: performance.now() - start };
}

describe('pages of any status are pages', () => {
  test.for([
    ['/', 200],
    ['/gone', 404],
    ['/empty-404', 404],
    ['/broken', 503],
    ['/text', 200],
  ] as const)('%s is %i', async ([path, status]) => {
    const { report, picture } = await engine.shoot(site.url(path));
    expect(report.httpStatus).toBe(status);
    expect(report.finalUrl).toBe(site.url(path));
    expect(picture.size).toBe('640x480');
  });
});

describe('redirects', () => {
  test.for([
    ['/redirect', '/?from=redirect'],
    ['/script-redirect', '/?from=script'],
    ['/late-redirect', '/?late'],
    ['/meta-redirect', '/?from=meta'],
  ] as const)('%s ends at %s', async ([path, end]) => {
    const { report, picture } = await engine.shoot(site.url(path));
    expect(report.finalUrl).toBe(site.url(end));
    expect(report.httpStatus).toBe(200);
    expect(picture.share('#ffffff')).toBeLessThan(1);
  });

  test('to a file is refused', async () => {
    expect(await failure('/redirect-to-file')).toMatchObject({ code: 'NAVIGATION_FAILED' });
    const { report } = await engine.shoot(site.url('/script-to-file'));
    expect(report.finalUrl).toBe(site.url('/script-to-file'));
  });

  test('to a private address is refused', async () => {
    for (const path of ['/redirect-to-private', '/script-to-private']) {
      const { code, message } = await failure(path);
      expect(code).toBe('URL_BLOCKED');
      expect(message).toContain('10.1.2.3');
    }
  });
});

describe('what cannot be opened', () => {
  test('a port where nobody listens', async () => {
    const closed = await TestSite.start({});
    const { port } = closed;
    await closed.close();
    for (const scheme of ['http', 'https']) {
      const { code, message } = await failure(`${scheme}://127.0.0.1:${port}/`);
      expect(code).toBe('NAVIGATION_FAILED');
      expect(message).toContain('was refused');
    }
  });

  test('a name that does not exist', async () => {
    const { code, message } = await failure('http://no-such-name.invalid/');
    expect(code).toBe('NAVIGATION_FAILED');
    expect(message).toMatch(/no-such-name\.invalid could not be resolved/);
  });

  test('no TLS where it is asked for', async () => {
    const { code, message } = await failure(site.url('/').replace('http:', 'https:'));
    expect(code).toBe('NAVIGATION_FAILED');
    expect(message).toMatch(/TLS/);
  });

  test('not HTTP', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('SSH-2.0-nonsense\r\n');
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    expect(await failure(`http://127.0.0.1:${port}/`)).toMatchObject({ code: 'NAVIGATION_FAILED' });
    server.close();
  });

  test.for([
    ['/download', /file to download \(application\/zip\)/],
    ['/nothing', /answered 204/],
    ['/reset', /refused|closed|reached/],
    ['/redirect-for-ever', /too many times/],
  ] as const)('%s', async ([path, said]) => {
    const { code, message } = await failure(path);
    expect(code).toBe('NAVIGATION_FAILED');
    expect(message).toMatch(said);
    expect(message).not.toMatch(/net::|page\.goto|Call log/);
  });
});

describe('the two kinds of time-out', () => {
  test('no answer is an error, in time', async () => {
    const { code, message, ms } = await failure('/never', { timeout: 1500 });
    expect(code).toBe('CAPTURE_TIMEOUT');
    expect(message).toContain('1500 ms');
    expect(ms).toBeGreaterThan(1400);
    expect(ms).toBeLessThan(4000);
  });

  test('no complete document is an error too', async () => {
    expect(await failure('/drip', { timeout: 1500 })).toMatchObject({ code: 'CAPTURE_TIMEOUT' });
  });

  test('commit takes what has begun', async () => {
    const { report } = await engine.shoot(site.url('/drip'), { timeout: 1500, waitUntil: 'commit' });
    expect(report.softTimeouts).toEqual([]);
  });

  test.for([
    ['/hanging-stylesheet', 'load', 'load'],
    ['/hanging-image', 'load', 'load'],
    ['/polling', 'networkidle', 'networkidle'],
  ] as const)('%s is taken as it stands', async ([path, waitUntil, soft]) => {
    const options = { timeout: 1500, waitUntil, imageTimeout: 0 };
    const { report, picture } = await engine.shoot(site.url(path), options);
    expect(report.softTimeouts).toContain(soft);
    expect(picture.at(300, 300)).toBe('#00aa00');
    expect(report.timings.navigateMs).toBeLessThan(4000);
  });

  test('domcontentloaded does not wait for an image', async () => {
    const { report } = await engine.shoot(site.url('/hanging-image'), {
      waitUntil: 'domcontentloaded',
      imageTimeout: 0,
    });
    expect(report.softTimeouts).toEqual([]);
    expect(report.timings.navigateMs).toBeLessThan(1400);
  });

  test('a script in the head that never comes is given up in time', async () => {
    const hasty = await TestEngine.start({ responseTimeoutMs: 500 });
    const { report, picture } = await hasty.shoot(site.url('/hanging-head-script'));
    await hasty.close();
    expect(report.softTimeouts).toEqual(['load']);
    expect(picture.share('#ffffff')).toBeLessThan(1);
  });

  test('load is not later than it has to be', async () => {
    const { picture } = await engine.shoot(site.url('/quick'));
    expect(picture.at(5, 5)).toBe('#ffffff');
  });
});

describe('html', () => {
  const shoot = (text: string, options: ShotOptions = {}) => engine.shoot({ kind: 'html', html: text }, options);

  test('is a page of an origin of its own', async () => {
    const { report, picture } = await shoot(
      `<title>é ü 漢</title><body style="background:#123456"><script>document.title += ' ' + origin + ' ' + isSecureContext</script>`,
    );
    expect(report).toMatchObject({ httpStatus: null, finalUrl: 'about:blank' });
    expect(report.title).toBe('é ü 漢 https://html.webcapture.invalid true');
    expect(picture.at(300, 300)).toBe('#123456');
  });

  test('loads what it names, over http too', async () => {
    const image = `http://127.0.0.1:${site.port}/image.svg`;
    const svg = await TestSite.start({
      '/image.svg': (_, response) =>
        response
          .writeHead(200, { 'content-type': 'image/svg+xml' })
          .end(
            '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><rect width="100" height="100" fill="#0a0"/></svg>',
          ),
    });
    const { report, picture } = await shoot(
      html(`<img style="display:block" src="${image.replace(String(site.port), String(svg.port))}">`),
    );
    await svg.close();
    expect(report.images).toEqual({ loaded: 1, failed: 0, pending: 0 });
    expect(picture.at(50, 50)).toBe('#00aa00');
  });

  test('has no files, and no server of its own', async () => {
    const { report } = await shoot(
      html(`<img src="file:///etc/passwd"><img src="/x.png"><script>
        fetch('/').then(() => (document.title = 'reached'), () => (document.title = 'refused'));
      </script>`),
      { delay: 300 },
    );
    expect(report.title).toBe('refused');
    expect(report.images).toMatchObject({ loaded: 0, failed: 2 });
  });

  test('may go on to a page', async () => {
    const { report } = await shoot(`<script>location = '${site.url('/?from=html')}'</script>`);
    expect(report).toMatchObject({ httpStatus: 200, finalUrl: site.url('/?from=html') });
  });
});
