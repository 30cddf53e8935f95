import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { html, TestEngine } from '../../harness/engine.ts';
import { Picture } from '../../harness/picture.ts';
import { listen, type Site } from '../egress/sites.ts';
import { expiredTlsFixture, tlsFixture } from '../egress/tls-fixture.ts';

const box = (color: string) => html(`<div style="width:100px;height:100px;background:${color}"></div>`);
const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><rect width="100" height="100" fill="#0f0"/></svg>`;

let engine: TestEngine;
/** The certificate of `site` is for another name than those of the pages. The certificate of `expired` has expired. */
let site: Site;
let expired: Site;
let hits: string[] = [];

const url = (host: string, path = '/', port = site.port) => `https://${host}:${port}${path}`;
const image = (path = '/image') => `<img src="${url('image.test', path)}" style="display:block">`;

function answer(request: Http2ServerRequest, response: Http2ServerResponse): void {
  hits.push(request.url);
  const pages: Record<string, readonly [type: string, body: string]> = {
    '/': ['text/html', box('#f00')],
    '/image': ['image/svg+xml', picture],
    '/page': [
      'text/html',
      html(
        `${image()}<iframe src="${url('frame.test', '/frame')}" style="border:0;width:100px;height:100px"></iframe>`,
      ),
    ],
    '/frame': ['text/html', html(image('/framed'))],
    '/framed': ['image/svg+xml', picture.replace('#0f0', '#00f')],
    '/moved': ['text/html', html(`<script>location = '${url('other.test')}'</script>`)],
    '/work': [
      'text/html',
      html(`<script>new Worker('/worker.js').onmessage = () => (document.body.innerHTML = '<p>done</p>')</script>`),
    ],
    '/worker.js': ['text/javascript', `fetch('${url('data.test', '/data')}').then(() => postMessage(0))`],
    '/data': ['text/plain', 'data'],
  };
  const [type, body] = pages[request.url] ?? ['text/html', ''];
  response.writeHead(200, { 'content-type': type, 'cache-control': 'max-age=600', 'access-control-allow-origin': '*' });
  response.end(body);
}

beforeAll(async () => {
  const start = (tls: typeof tlsFixture) =>
    listen(createSecureServer({ ...tls, allowHTTP1: true }, answer), '127.0.0.1');
  [site, expired, engine] = await Promise.all([start(tlsFixture), start(expiredTlsFixture), TestEngine.start()]);
});
afterAll(async () => {
  await engine.close();
  await site.close();
  await expired.close();
});

const ignoring = { ignoreTlsErrors: true };
const refused = { code: 'NAVIGATION_FAILED', message: expect.stringMatching(/^The TLS certificate of /) };

describe.each([false, true])('with antiBot %s', (antiBot) => {
  test('a page, its images, frames, workers and next documents of servers with invalid certificates are captured', async () => {
    const options = { ...ignoring, antiBot };
    const { picture: page } = await engine.shoot(url('page.test', '/page'), options);
    expect(page.at(50, 50)).toBe('#00ff00');
    expect(page.at(50, 150)).toBe('#0000ff');
    const { picture: old } = await engine.shoot(url('expired.test', '/', expired.port), options);
    expect(old.at(50, 50)).toBe('#ff0000');
    const { picture: moved } = await engine.shoot(url('page.test', '/moved'), options);
    expect(moved.at(50, 50)).toBe('#ff0000');
    // The worker needs data of a server with an invalid certificate.
    const waitFor = { text: 'done', state: 'visible', timeout: 20_000, required: true } as const;
    await engine.render(url('page.test', '/work'), { ...options, waitFor });
  });

  test('the next captures of the same servers do not ignore errors, and use no connection and no cache', async () => {
    // The loop lets each browser of the pool serve both kinds of capture. The pool has two browsers, and one with antiBot.
    for (let turn = 0; turn < (antiBot ? 1 : 3); turn += 1) {
      for (const path of ['/page', '/']) {
        const address = url('page.test', path);
        await engine.render(address, { ...ignoring, antiBot }, { reuseFor: 'account' });
        hits = [];
        const next = engine.render(address, { antiBot }, { reuseFor: 'account' });
        await expect(next).rejects.toMatchObject(refused);
      }
      const { bytes } = await engine.render({ kind: 'html', html: html(image()) }, { antiBot });
      expect((await Picture.of(bytes)).at(50, 50)).toBe('#ffffff');
      expect(hits).toEqual([]);
    }
  });
});
