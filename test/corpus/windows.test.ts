// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { html, TestEngine, TestSite, type ShotOptions } from '../harness/engine.ts';

const green = '#00aa00';

/** Reads all that a page can know about its window and screen. */
const look = `const look = () => JSON.stringify([innerWidth, innerHeight, outerWidth, outerHeight, screenX, screenY, devicePixelRatio,
  screen.width, screen.height, screen.orientation.type, matchMedia('(orientation: landscape)').matches, document.visibilityState]);`;

/** Green if `script`, which may be asynchronous, has not changed the window. */
const moving = (script: string) =>
  html(`<h1>x</h1><script>${look}
    const pause = () => new Promise((resolve) => setTimeout(resolve, 200));
    (async () => {
      // In the full browser, a new page knows its window a moment later.
      await pause();
      const before = look();
      let resized = '';
      addEventListener('resize', () => resized = 'resized ');
      try { ${script} } catch {}
      await pause();
      document.title = look() === before ? resized + 'same' : resized + before + look();
      document.body.insertAdjacentHTML('beforeend', '<p id="done">x');
      if (document.title === 'same') document.documentElement.style.background = '${green}';
    })();
  </script>`);

const calls = [
  'resizeTo(400, 300)',
  'resizeBy(-300, -300)',
  'moveTo(50, 60)',
  'moveBy(7, 8)',
  'Window.prototype.resizeTo?.call(window, 400, 300)',
  `document.body.append(document.createElement('iframe')); frames[0].resizeTo.call(window, 400, 300); frames[0].moveTo.call(window, 9, 9)`,
  `document.body.insertAdjacentHTML('beforeend', '<iframe srcdoc="<body onload=top.resizeTo(400,300)>"></iframe>')`,
  `document.body.insertAdjacentHTML('beforeend', '<object data="about:blank"></object>'); frames[0].resizeBy.call(window, -200, -200)`,
  'await screen.orientation.lock("portrait")',
  `const frame = document.createElement('iframe'); frame.src = location.href.replace('127.0.0.1', 'localhost') + 'locks';
   const told = new Promise((resolve) => onmessage = resolve); document.body.append(frame); await told`,
  `open('about:blank', '', 'popup,width=200,height=100')?.resizeTo(300, 300)`,
];

const red = 'position:fixed;inset:0 auto auto 0;width:50px;height:50px;background:#ff0000';

/** Actions of a clicked page, which has more rights. */
const clicked = {
  'full screen': `box.requestFullscreen()`,
  'full screen by the older API': `box.webkitRequestFullscreen()`,
  'full screen that is requested again when it ends': `box.requestFullscreen(); onfullscreenchange = () => box.requestFullscreen()`,
  'full screen of a video': `video.webkitEnterFullscreen()`,
  'full screen of a frame': `frames[0].document.body.requestFullscreen()`,
  'picture-in-picture': `video.play().then(() => video.requestPictureInPicture())`,
  'document picture-in-picture': `documentPictureInPicture.requestWindow({ width: 300, height: 300 }).then((inner) => inner.resizeTo(500, 500))`,
  'a window': `const inner = open('about:blank', '', 'popup,width=200,height=100'); inner?.resizeTo(300, 300); inner?.opener.resizeTo(400, 300)`,
};

const clickable = (script: string) =>
  html(`<style>body { background: ${green} } :fullscreen { background: #ff0000 !important }</style>
    <div id="box" style="${red}"></div><video id="video" width="100" height="100" muted style="position:fixed;top:100px;left:0"></video>
    <iframe srcdoc="x" allow="fullscreen" style="position:fixed;top:300px;left:0;width:50px;height:50px;border:0"></iframe>
    <button style="position:fixed;left:300px;top:10px">x</button><script>
      const canvas = document.createElement('canvas');
      canvas.getContext('2d').fillStyle = '#0000ff';
      canvas.getContext('2d').fillRect(0, 0, 300, 300);
      video.srcObject = canvas.captureStream(30);
      video.play();
      document.querySelector('button').onclick = () => { ${script} };
    </script>`);

let engine: TestEngine;
let site: TestSite;

beforeAll(async () => {
  // The captures are sequential in the same browser, so that each sees the state that the previous one left.
  engine = await TestEngine.start({ slots: 1 });
  site = await TestSite.start({
    ...Object.fromEntries(calls.map((script, index) => [`/moves/${index}/`, moving(script)])),
    ...Object.fromEntries(
      calls.map((_, index) => [
        `/moves/${index}/locks`,
        html(
          `<script>screen.orientation.lock('portrait').catch(() => 0).then(() => parent.postMessage('', '*'))</script>`,
        ),
      ]),
    ),
    ...Object.fromEntries(Object.values(clicked).map((script, index) => [`/clicked/${index}`, clickable(script)])),
    '/look': moving(''),
  });
});

afterAll(async () => {
  await engine.close();
  await site.close();
});

const done = { selector: '#done', state: 'attached', timeout: 4000, required: true } as const;

const shown: readonly (readonly [string, ShotOptions])[] = [
  ['in the default viewport', { viewport: { width: 1280, height: 720 } }],
  ['in another viewport', { viewport: { width: 900, height: 500 } }],
  ['with antiBot', { antiBot: true, viewport: { width: 1280, height: 720 } }],
];

describe.each(shown)('the window of a capture %s', (_, options) => {
  const size = { width: 1280, height: 720, ...options.viewport };

  test.each(calls.map((script, index) => [script, `/moves/${index}/`] as const))(
    'is unchanged after %s',
    async (__, path) => {
      const { picture, report } = await engine.shoot(site.url(path), { ...options, waitFor: done });
      expect(report).toMatchObject({ title: 'same', softTimeouts: [] });
      expect([picture.width, picture.height]).toEqual([size.width, size.height]);
      expect(picture.at(600, 400)).toBe(green);
    },
  );

  test('is laid out at its full width for one element', async () => {
    const { picture } = await engine.shoot(site.url('/moves/0/'), { ...options, selector: 'h1' });
    expect(picture.width).toBe(size.width);
  });

  test.each(Object.keys(clicked).map((name, index) => [name, `/clicked/${index}`] as const))(
    'shows the page when a click opens %s',
    async (__, path) => {
      const { picture, report } = await engine.shoot(site.url(path), {
        ...options,
        click: ['button'],
      });
      expect(report.softTimeouts).toEqual([]);
      expect([picture.width, picture.height]).toEqual([size.width, size.height]);
      expect(picture.at(600, 400)).toBe(green);
      expect(picture.at(20, 20)).toBe('#ff0000');
      expect(picture.at(50, 200)).toBe(green);
      expect(picture.at(50, 130)).toBe('#0000ff');
    },
  );

  test('is a new one for the next page', async () => {
    const { report } = await engine.shoot(site.url('/look'), { ...options, waitFor: done });
    expect(report.title).toBe('same');
  });
});
