import { beforeAll, describe, expect, test } from 'vitest';
import { stillQuestion } from '../../../services/renderer/browser/activity.ts';
import { scriptsHaveEnded, readActivity } from '../../../services/renderer/page/scripts/activity.ts';
import { html, sharedEngine, type TestEngine } from '../../harness/engine.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await sharedEngine();
});

/** Returns the activity of a page after its script has run. By default it is read when the page has loaded. */
async function activityOf(script: string, options: object = {}): Promise<string | null> {
  const ask = `const activity = (${readActivity.toString()})(${JSON.stringify(stillQuestion)});
    const scriptsHaveEnded = ${scriptsHaveEnded.toString()};
    let ask = () => (document.title = scriptsHaveEnded() ? 'still' : 'active');`;
  const page = html(`<p>text</p><script>addEventListener('load', () => ask());${ask}{${script}}</script>`);
  return (await engine.render({ kind: 'html', html: page }, { delay: 60, ...options })).report.title;
}

describe('a page without pending scripts is still', () => {
  test.each([
    ['nothing', ''],
    [
      'what people do',
      `for (const name of ['click', 'keydown', 'load', 'pointermove']) addEventListener(name, () => {})`,
    ],
    ['a timer that was cleared', 'clearTimeout(setTimeout(() => {}, 60_000))'],
    ['an interval that was cleared as a timer', 'clearTimeout(setInterval(() => {}, 10))'],
    ['a timer that has run', 'setTimeout((...given) => given.join() === "1,2" && ask(), 5, 1, 2)'],
    ['a frame that was cancelled', 'cancelAnimationFrame(requestAnimationFrame(() => {}))'],
    ['a frame that was drawn', 'requestAnimationFrame((time) => time > 0 && ask())'],
    ['an idle callback that has run', 'requestIdleCallback(({ didTimeout }) => didTimeout === false && ask())'],
    ['a timer that throws', 'setTimeout(() => { addEventListener("error", ask); throw new Error("its own") }, 5)'],
  ])('%s', async (_, script) => {
    expect(await activityOf(script)).toBe('still');
  });
});

describe('a page with pending scripts is active', () => {
  test.each([
    ['a timer', 'setTimeout(() => {}, 60_000)'],
    ['an interval, again and again', 'setInterval(ask, 5)'],
    ['a frame', 'const draw = () => { requestAnimationFrame(draw); ask(); }; draw()'],
    [
      'frames and timers with the same ids',
      'const draw = () => { clearTimeout(requestAnimationFrame(draw)); ask(); }; draw()',
    ],
    ['an idle callback', 'const idle = () => { requestIdleCallback(idle); ask(); }; idle()'],
    ['a timer of a timer', 'setTimeout(() => { setTimeout(() => {}, 60_000); ask(); }, 5)'],
    ['two timers of which one was cleared', 'clearTimeout(setTimeout(() => {}, 60_000)); setTimeout(() => {}, 60_000)'],
  ])('%s', async (_, script) => {
    expect(await activityOf(script)).toBe('active');
  });
});

describe('a page whose scripts react to anything but user input is active', { tags: 'long' }, () => {
  test.each([
    ['scrolling', 'document.addEventListener("scroll", () => {}, { passive: true })'],
    ['scrolling of an element', 'document.body.onscroll = () => {}'],
    ['the end of scrolling', 'onscrollend = () => {}'],
    ['another size', 'addEventListener("resize", { handleEvent() {} })'],
    ['another size of what is seen', 'visualViewport.onresize = () => {}'],
    ['an event whose name is an object', 'addEventListener({ toString: () => "scroll" }, () => {})'],
    ['media queries', 'matchMedia("print")'],
    ['what is in sight', 'new IntersectionObserver(() => {})'],
    ['sizes of elements', 'new (class extends ResizeObserver {})(() => {})'],
    ['changes', 'new MutationObserver(() => {})'],
    ['a script in a string', 'clearTimeout(setTimeout("1", 60_000))'],
    ['a request', 'fetch("data:,x")'],
    ['an older request', 'new XMLHttpRequest()'],
    ['a worker', 'new Worker(URL.createObjectURL(new Blob([""])))'],
    ['messages', 'addEventListener("message", () => {})'],
    ['a channel', 'new MessageChannel()'],
    ['a class that is had by its objects', 'new MutationObserver.prototype.constructor(() => {})'],
    ['an image outside the document', 'new Image().src = "data:image/gif;base64,"'],
    [
      'a style sheet that is under way',
      `addEventListener('load', () => {
        document.head.insertAdjacentHTML('beforeend', '<link rel=stylesheet href=/soon.css>');
        ask();
      })`,
    ],
    ['code that is compiled', 'WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))'],
    ['an image that is decoded', 'new Image().decode().catch(() => {})'],
    ['another task', 'scheduler.postTask(() => {})'],
    ['the place', 'navigator.geolocation.getCurrentPosition(() => {})'],
    ['a canvas that becomes a file', 'document.createElement("canvas").toBlob(() => {})'],
    ['fonts', 'document.fonts.ready.then(() => {})'],
    ['a shadow tree', 'document.body.attachShadow({ mode: "closed" })'],
    ['another document', 'addEventListener("load", () => { location.hash = "elsewhere"; ask(); })'],
    ['a database', 'indexedDB.open("one")'],
    ['a hash', 'crypto.subtle.digest("SHA-256", new Uint8Array(1))'],
    ['what the browser knows of itself', 'navigator.userAgentData.getHighEntropyValues([])'],
    ['a stream that is packed', 'new CompressionStream("gzip")'],
  ])('%s', async (_, script) => {
    expect(await activityOf(script)).toBe('active');
  });
});

test('watched functions keep their properties', async () => {
  const checks = `[
    setTimeout.name === 'setTimeout', setTimeout.length === 1, /native code/.test(setTimeout),
    Object.getOwnPropertyDescriptor(window, 'setTimeout').enumerable, !('prototype' in setTimeout),
    new IntersectionObserver(() => {}).constructor === IntersectionObserver,
    new IntersectionObserver(() => {}) instanceof IntersectionObserver, IntersectionObserver.name === 'IntersectionObserver',
    (() => { try { setTimeout(); } catch (error) { return error instanceof TypeError; } })(),
    (() => { try { IntersectionObserver(); } catch (error) { return error instanceof TypeError; } })(),
    ((onscroll = ask), onscroll === ask), typeof setTimeout(ask, 1e6) === 'number',
  ]`;
  const script = `ask = () => {}; document.title = ${checks}.map(Number).join('');`;
  const { report } = await engine.render({
    kind: 'html',
    html: html(`<p>text</p><script>let ask; ${script}</script>`),
  });
  expect(report.title).toBe('1'.repeat(12));
});

test('built-in objects that a page changed are not used', async () => {
  const spoil = `for (const method of ['apply', 'construct', 'get']) Reflect[method] = () => { throw new Error('spoilt'); };
    Object.getOwnPropertyDescriptor = Event.prototype.preventDefault = RegExp.prototype.exec = () => { throw new Error('spoilt'); };
    Array.prototype[Symbol.iterator] = () => { throw new Error('spoilt'); };
    Object.prototype.get = Object.prototype.has = () => undefined;
    const asked = ask;
    ask = () => {};
    setTimeout(() => asked(), 5); addEventListener('pointermove', () => {})`;
  expect(await activityOf(spoil)).toBe('still');
});

test('with antiBot no function is watched, and no page counts as still', async () => {
  expect(await activityOf('', { antiBot: true })).toBe('active');
});
