import { createServer as createTcpServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ShotOptions } from '../../harness/engine.ts';
import { html, sharedEngine, type TestEngine, TestSite } from '../../harness/engine.ts';
import { freePort } from '../../harness/free-port.ts';

let engine: TestEngine;
let site: TestSite;

beforeAll(async () => {
  engine = await sharedEngine();
  site = await TestSite.start({
    '/': html('<p>hello'),
    '/redirect-to-private': (_, response) => response.writeHead(302, { location: 'http://10.1.2.3/secret' }).end(),
    '/script-to-private': html(`<script>location.replace('http://10.1.2.3/')</script>`),
  });
});

afterAll(() => site.close());

async function failure(path: string) {
  const error = await engine.render(path.startsWith('/') ? site.url(path) : path).then(
    () => expect.unreachable('it should have failed'),
    (thrown: unknown) => thrown as { code: string; message: string },
  );
  return { code: error.code, message: error.message };
}

test('a redirect to a private address is refused', async () => {
  for (const path of ['/redirect-to-private', '/script-to-private']) {
    const { code, message } = await failure(path);
    expect(code).toBe('URL_BLOCKED');
    expect(message).toContain('10.1.2.3');
  }
});

describe('a page that cannot be opened', () => {
  test('a port without a listener', async () => {
    const port = await freePort();
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

  test('a server that does not use HTTP', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('SSH-2.0-nonsense\r\n');
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    expect(await failure(`http://127.0.0.1:${port}/`)).toMatchObject({ code: 'NAVIGATION_FAILED' });
    server.close();
  });
});

describe('supplied HTML', () => {
  const shoot = (text: string, options: ShotOptions = {}) => engine.shoot({ kind: 'html', html: text }, options);

  test('is a page with its own origin', async () => {
    const { report, picture } = await shoot(
      `<title>é ü 漢</title><body style="background:#123456"><script>document.title += ' ' + origin + ' ' + isSecureContext</script>`,
    );
    expect(report).toMatchObject({ httpStatus: null, responseUrl: null, finalUrl: 'about:blank' });
    expect(report.title).toBe('é ü 漢 https://html.webcapture.invalid true');
    expect(picture.at(300, 300)).toBe('#123456');
  });

  test('loads its resources, also over http', async () => {
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

  test('cannot load files, and has no server', async () => {
    const { report } = await shoot(
      html(`<img src="file:///etc/passwd"><img src="/x.png"><script>
        fetch('/').then(() => (document.title = 'reached'), () => (document.title = 'refused'));
      </script>`),
      { waitUntil: 'networkidle' },
    );
    expect(report.title).toBe('refused');
    expect(report.images).toMatchObject({ loaded: 0, failed: 2 });
  });

  test('may navigate to another page', async () => {
    const { report } = await shoot(`<script>location = '${site.url('/?from=html')}'</script>`);
    expect(report).toMatchObject({ httpStatus: 200, responseUrl: null, finalUrl: site.url('/?from=html') });
  });
});
