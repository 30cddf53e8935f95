import type { RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import type { Session } from '@webcapture/shared/api/session.ts';
import { type Guide, pictureOf } from './guide.ts';

const password = 'the-password-of-ann';
const green = '#00aa00';

const shop: RequestListener = (request, response) => {
  const html = (body: string) => response.writeHead(200, { 'content-type': 'text/html' }).end(body);
  if (request.url === '/login') {
    html(
      '<form method="post" action="/enter"><input id="user" name="user"><input id="password" name="password"><button>Log in',
    );
  } else if (request.url === '/enter') {
    void text(request).then((form) => {
      const cookie = form === `user=ann&password=${password}` ? { 'set-cookie': 'sid=of-ann; HttpOnly; Path=/' } : {};
      response.writeHead(303, { location: '/account/orders', ...cookie }).end();
    });
  } else {
    const isIn = request.headers.cookie?.includes('sid=of-ann') === true;
    html(isIn ? `<body style="background: ${green}; height: 2000px"><p class="account">Ann` : '<p>Log in');
  }
};

export const login: Guide = {
  name: 'login',
  promise: 'captures a page behind a login, renews the login, and fails without one',
  env: { SHOP_PASSWORD: password },
  site: () => shop,
  async check({ fleet, place, blocks }) {
    const picture = await pictureOf(place, 'orders.png');
    expect(picture).toMatchObject({ format: 'png', width: 1280 });
    expect(picture.height).toBeGreaterThanOrEqual(2000);
    expect(picture.share(green)).toBeGreaterThan(0.9);

    const session = (await place.read('session.json')).toString();
    expect(session).not.toContain(password);
    const { sessions } = await fleet.api.call<{ sessions: Session[] }>('GET', '/sessions');
    expect(sessions).toEqual([(JSON.parse(session) as { data: Session }).data]);

    const [logIn = '', capture = ''] = blocks.map(({ code }) => code);
    const withoutSession = capture.replace(/^ *"session": .*\n/m, '');
    const wrongPassword = `SHOP_PASSWORD=wrong\n${logIn.replace('curl ', 'curl -D headers ')}`;
    const codes = [withoutSession, wrongPassword].map(async (script) => (await place.exitOf(script)).code);
    expect(await Promise.all(codes)).toEqual([22, 22]);
    expect((await place.read('orders.png')).toString()).toContain('CAPTURE_FAILED');
    expect((await place.read('session.json')).toString()).toContain('Step 4 (waitFor \\".account\\") failed');
    const [, uuid] = /^x-capture-uuid: (\S+)/im.exec((await place.read('headers')).toString()) ?? [];
    expect((await fleet.api.get(`/captures/${uuid}/diagnostics/picture`)).status).toBe(200);
  },
};
