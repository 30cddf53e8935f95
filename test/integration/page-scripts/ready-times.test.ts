// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import type { PageActivity } from '../../../services/renderer/page/scripts/activity.ts';
import { fingerprintCanvas } from '../../../services/renderer/page/scripts/canvases.ts';
import { movesEndlessly, observeChanges } from '../../../services/renderer/page/scripts/motion.ts';
import * as script from '../../../services/renderer/page/scripts/ready.ts';
import type { PageWaits } from '../../../services/renderer/page/scripts/waits.ts';
import * as clock from '../../harness/page-clock.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const activity: PageActivity;
declare const untilNothingIsDue: typeof script.untilNothingIsDue;
declare const useClock: typeof clock.useClock;
declare const waits: PageWaits;
declare const watchChanges: typeof script.watchChanges;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

/** Pending work of a page: its first callback is always due in `inMs`. */
interface Work {
  readonly kind: string;
  readonly delay?: number;
  readonly inMs?: number;
  /** Time between two of its callbacks; none runs by default. */
  readonly everyMs?: number;
  /** When the work is no longer pending. */
  readonly untilMs?: number;
}

/** What happens in a page while a clock runs. Times are in milliseconds after `watchChanges`. */
interface Course {
  readonly body?: string;
  readonly head?: string;
  /** Undefined if the pending work is not known. */
  readonly work?: readonly Work[] | undefined;
  /** A script that runs in each frame, with its time as `ms`. */
  readonly script?: string;
  readonly scope?: 'visible' | 'all';
  /** When the page is looked at for the first time. */
  readonly firstMs?: number;
  readonly everyMs?: number;
  readonly maxMs?: number;
  readonly maxProgressMs?: number;
  readonly refresh?: string;
  /** When the load event has ended; null for a document without this time. */
  readonly loadedMs?: number | null;
  /** How often `watchChanges` and `untilNothingIsDue` are called. */
  readonly times?: number;
}

const text = '<p id="seen">text</p>';
const navigation: Work = { kind: 'navigation' };
/** A timer that runs between any two looks at the page. */
const timer: Work = { kind: 'setInterval', delay: 10, everyMs: 10 };
/** The same for a loop that draws frames. */
const frames: Work = { kind: 'requestAnimationFrame', everyMs: 10 };

/** Returns when the last wait ended and the page changed for the last time, and the rest of its result. */
async function run({ body = text, head = '', work, refresh, ...course }: Course) {
  const { script: code = '', scope = 'all', firstMs = 0, everyMs = 50, maxMs = 9000, maxProgressMs = maxMs } = course;
  const onFrame = `<script>document.addEventListener('frame', (event) => { const ms = Number(event.detail); ${code} })</script>`;
  await page.show(body + onFrame, head);
  return page.call(
    async (works: readonly Work[] | null, header: string | null, loadedMs: number | null, all) => {
      const lookMs = 16;
      const passed = useClock((ms) => {
        document.dispatchEvent(new CustomEvent('frame', { detail: String(ms) }));
      }, all.everyMs - lookMs);
      const now = performance.now();
      const entry = { loadEventEnd: now + (loadedMs ?? 0) } as PerformanceNavigationTiming;
      performance.getEntriesByType = () => (loadedMs === null ? [] : [entry]);
      activity.due = () =>
        works
          ?.filter(({ untilMs }) => untilMs === undefined || passed() < untilMs)
          .map(({ kind, delay = 0, inMs = 0, everyMs }) => {
            return { kind, delay, inMs, ran: everyMs === undefined ? 0 : Math.floor(passed() / everyMs) };
          });
      let result;
      for (let time = 0; time < all.times; time += 1) {
        const start = watchChanges();
        if (all.firstMs > 0) await waits.sleep(all.firstMs);
        const about = { runs: true, ...(header === null ? {} : { refresh: header }) };
        const began = start - now;
        const { lastChange, ...rest } = await untilNothingIsDue(all.scope, all.maxMs, all.maxProgressMs, about);
        result = { ...rest, ended: passed() - began, changed: lastChange - start };
      }
      return result as NonNullable<typeof result>;
    },
    [
      work ?? null,
      refresh ?? null,
      course.loadedMs === undefined ? 0 : course.loadedMs,
      { scope, firstMs, everyMs, maxMs, maxProgressMs, times: course.times ?? 1 },
    ] as const,
    [fingerprintCanvas, observeChanges, movesEndlessly, script.untilNothingIsDue, script.watchChanges, clock.useClock],
  );
}

/** Returns when the wait ends. */
const endOf = async (course: Course) => (await run(course)).ended;

/** Returns whether a change of the page counts. */
async function notices(change: string, scope: 'visible' | 'all'): Promise<boolean> {
  const places = {
    below: 'top:480px',
    lowest: 'top:479px',
    beside: 'left:640px',
    rightmost: 'left:639px',
    above: 'top:-100px;height:99px',
    topmost: 'top:-100px;height:100px',
    leftOut: 'left:-100px;width:99px',
    leftmost: 'left:-100px;width:100px',
  };
  const boxes = Object.entries(places).map(([id, place]) => `<i id="${id}" style="${place}"></i>`);
  const { changed } = await run({
    scope,
    head: `<style id="sheet">i { position: absolute; width: 9px; height: 9px } s, u { display: none } b { display: block; height: 9px }</style>`,
    body: `<p id="seen" title="old">text</p><p id="pair">text<b></b></p><p id="hidden" hidden></p><svg><use id="use" xlink:href="#a"/></svg>${boxes.join('')}${'<u></u>'.repeat(200)}`,
    script: `if (ms !== 50) return;
             const many = (count) => { for (const each of [...document.querySelectorAll('u')].slice(0, count)) each.title = 'new' };
             ${change}`,
    work: [{ ...navigation, untilMs: 100 }],
  });
  return changed === 50;
}

describe('untilNothingIsDue', () => {
  test.each<readonly [number, Work]>([
    [500, timer],
    [500, { ...timer, delay: 249 }],
    [500, { ...timer, everyMs: 50 }],
    // Three runs of a timer.
    [900, { ...timer, everyMs: 300 }],
    // Eight frames.
    [800, { ...frames, everyMs: 100 }],
    [500, frames],
    // One run of a long timer.
    [300, { ...timer, delay: 250, everyMs: 300 }],
    [0, { ...timer, delay: 1000 }],
  ])('waits %i ms for callbacks that do not change the view: %j', async (ended, work) => {
    expect(await run({ work: [work] })).toMatchObject({ ended, changed: 0 });
  });

  test('counts the runs of each callback since the page was watched', async () => {
    const busy = { ...timer, delay: 20 };
    expect(await endOf({ firstMs: 400, work: [{ ...timer, everyMs: 200 }] })).toBe(600);
    expect(await endOf({ firstMs: 300, work: [{ ...timer, delay: 300, everyMs: 300 }] })).toBe(300);
    expect(await endOf({ firstMs: 300, work: [busy, { ...timer, everyMs: 300 }] })).toBe(900);
    expect(await endOf({ firstMs: 300, work: [busy, { ...busy, kind: 'setTimeout', everyMs: 300 }] })).toBe(900);
  });

  test('waits for more runs after a change, and for long timers after content was added', async () => {
    const move = (at: number) => `if (ms === ${at}) seen.style.left = '1px'`;
    const grow = (at: number) => `if (ms === ${at}) seen.append('more')`;
    expect(await run({ work: [timer], script: move(300) })).toMatchObject({ ended: 800, changed: 300 });
    expect(await endOf({ work: [{ ...timer, everyMs: 300 }], script: move(800) })).toBe(1500);
    const long = { ...timer, delay: 300, everyMs: 300 };
    expect(await endOf({ work: [long], script: move(300) })).toBe(300);
    expect(await endOf({ work: [long], script: grow(300) })).toBe(600);
  });

  test('waits for less time if nothing changed in the last half second of the previous wait', async () => {
    expect(await endOf({ work: [timer], times: 2 })).toBe(250);
    expect(await endOf({ work: [navigation], maxMs: 450, times: 2 })).toBe(450);
    expect(await endOf({ work: [timer], maxMs: 450, times: 2 })).toBe(450);
  });

  const move = "seen.style.left = ms + 'px';";
  const draw = "const context = seen.getContext('2d'); context.fillStyle = 'rgb(' + (ms / 50) % 256 + ' 0 0)';";
  test.each([
    ['moves', text, move],
    ['pulses', text, 'seen.style.opacity = ms % 100 === 0 ? 0.5 : 1'],
    ['has a text that changes', text, 'seen.firstChild.data = String(ms % 100).padStart(4, 0)'],
    ['is drawn', '<canvas id="seen" width="9" height="9"></canvas>', `${draw} context.fillRect(0, 0, 9, 9)`],
  ])('does not wait for an element that %s without end', async (_, body, script) => {
    const everyLook = `if (ms % 50 === 0) { ${script} }`;
    const longest = 1550;
    expect(await run({ work: [frames], body, script: everyLook })).toEqual({
      ended: longest + 250,
      changed: longest,
      repeats: true,
    });
  });

  test.each([
    ['a number that is counted up', 'String(1000 + ms)', 2500],
    ['an amount that is counted up', '`$ ${(1 + ms / 1000).toFixed(2)} in all`', 2500],
    ['a number that is counted down', 'String(5000 - ms)', 1800],
    ['a number that is counted up again and again', 'String(1000 + ms % 1000)', 1800],
    ['a number in a long text', '`${1000 + ms} ${"-".repeat(37)}`', 1800],
    ['a text without a number', '"-".repeat(9) + (ms % 100 ? "a" : "b")', 1800],
  ])('waits for %s', async (_, content, ended) => {
    const script = `if (ms % 50 === 0 && ms <= 2000) seen.firstChild.data = ${content}`;
    expect(await endOf({ body: '<p id="seen">0000</p>', work: [frames], script })).toBe(ended);
  });

  test('waits half a second again when an endless motion has ended', async () => {
    const ending = (everyMs: number) =>
      endOf({ work: [{ ...frames, everyMs }], script: `if (ms <= 1600) { ${move} }` });
    expect(await ending(10)).toBe(1800);
    // Without eight frames in a quarter of a second.
    expect(await ending(35)).toBe(2050);
  });

  test.each([
    ['more content is added', "if (ms % 100 === 0) seen.append('more')"],
    ['an element fades in', 'seen.style.opacity = ms / 4000'],
    ['an element fades in that has moved before', `${move} seen.style.opacity = Math.max(0.1, (ms - 1000) / 2000)`],
    ['more elements start to move', "document.querySelectorAll('b')[ms / 50]?.setAttribute('title', 'new')"],
  ])('waits as long as %s', async (_, script) => {
    const body = `${text}${'<b>text</b>'.repeat(61)}`;
    const course = { body, work: [frames], script: `if (ms <= 3000) { ${script} }` };
    expect(await run({ ...course, maxMs: 1500, maxProgressMs: 9000 })).toMatchObject({ ended: 3500, changed: 3000 });
    expect(await endOf({ ...course, maxMs: 1500, maxProgressMs: 2000 })).toBe(2000);
  });

  test.each([
    [50, 250, true],
    [50, 300, false],
    [20, 240, true],
    [25, 250, false],
    [100, 500, true],
  ])('with a look every %i ms, a pause of %i ms continues a motion: %s', async (everyMs, pauseMs, continues) => {
    const script = `if (ms % ${pauseMs} === 0) { ${move} }`;
    const ended = await endOf({ work: [frames], everyMs, script, maxMs: 5000 });
    expect(ended < 5000).toBe(continues);
  });

  test.each([
    ['nothing', undefined, ''],
    ['a motion a quarter of a second before', undefined, `if (ms === 250) { ${move} }`],
    ['a motion', 'animations', `if (ms === 300) { ${move} }`],
    ['more content a quarter of a second before', undefined, "if (ms === 250) seen.append('more')"],
    ['more content', 'content', "if (ms === 300) seen.append('more')"],
    ['more content and then a motion', 'content', `if (ms === 300) seen.append('more'); if (ms === 450) { ${move} }`],
    ['a motion after content', 'animations', `if (ms === 250) seen.append('more'); if (ms === 300) { ${move} }`],
    ['content and another attribute', 'content', "if (ms === 300) { seen.append('more'); seen.title = 'new' }"],
    ['a longer text', 'content', "if (ms === 300) seen.firstChild.data = 'texts'"],
    ['another text', 'animations', "if (ms === 300) seen.firstChild.data = 'next'"],
    ['a shorter text', 'animations', "if (ms === 300) seen.firstChild.data = 'tex'"],
    ['new content of the same size', 'animations', "if (ms === 300) seen.replaceChildren('next')"],
    ['new content that is larger', 'content', "if (ms === 300) seen.replaceChildren('texts')"],
    ['an element in place of a text', 'content', "if (ms === 300) seen.innerHTML = '<i>text</i>'"],
    ['less content', 'animations', 'if (ms === 300) seen.firstChild.remove()'],
    ['an empty element', 'content', "if (ms === 300) seen.append(document.createElement('i'))"],
    ['content below the viewport', 'animations', "if (ms === 300) low.append(document.createElement('i'))"],
    ['a longer text below the viewport', 'content', "if (ms === 300) low.firstChild.data = 'texts'"],
  ])('returns at its limit what was still changing: %s', async (_, changing, script) => {
    const body = `${text}<p id="low" style="position:absolute;top:900px">text</p>`;
    const result = await run({ body, work: [navigation], script, maxMs: 500 });
    expect([result.ended, result.changing]).toEqual([500, changing]);
  });

  test('returns that nothing is changing if nothing is pending', async () => {
    const course = { work: [{ ...navigation, untilMs: 300 }], script: `if (ms === 300) { ${move} }` };
    expect(await run(course)).toEqual({ ended: 300, changed: 300, repeats: false });
  });

  test('waits beyond the limit for half a second after content was added', async () => {
    const course = { work: [navigation], maxMs: 500, script: "if (ms === 400) seen.append('more')" };
    expect(await run({ ...course, maxProgressMs: 2000 })).toMatchObject({ ended: 900 });
    expect(await endOf({ ...course, maxProgressMs: 700 })).toBe(700);
  });

  test('waits for timers that are due within the limit, or half a second after content was added', async () => {
    const due = (inMs: number) => [{ kind: 'setTimeout', delay: 9000, inMs }];
    expect(await endOf({ work: due(500), maxMs: 500 })).toBe(50);
    expect(await endOf({ work: due(501), maxMs: 500 })).toBe(0);
    const grow = { script: "if (ms === 16) seen.append('more')", firstMs: 16, maxProgressMs: 9000 };
    expect(await endOf({ ...grow, work: due(500), maxMs: 100 })).toBe(516);
    expect(await endOf({ ...grow, work: due(501), maxMs: 100 })).toBe(16);
    expect(await endOf({ ...grow, work: due(900), maxMs: 1000 })).toBe(116);
  });

  test('measures its limit from the last call of watchChanges', async () => {
    const course = { work: [navigation], maxMs: 500, times: 2 };
    expect(await run(course)).toMatchObject({ ended: 500, changed: 0 });
    expect(await endOf({ ...course, firstMs: 200 })).toBe(500);
  });

  test('waits for further changes if the pending work is not known', async () => {
    const change = (at: number) => `if (ms === ${at}) { ${move} }`;
    expect(await run({})).toEqual({ ended: 400, changed: 0, repeats: false });
    expect(await endOf({ script: change(100) })).toBe(400);
    expect(await endOf({ script: change(300) })).toBe(550);
  });

  test.each([
    ['at its next look', 800, "seen.getContext('2d').fillRect(0, 0, 9, 9)"],
    ['unless it is the same', 500, "seen.getContext('2d').clearRect(0, 0, 9, 9)"],
    ['unless it is out of view', 500, "low.getContext('2d').fillRect(0, 0, 9, 9)"],
  ])('notices the drawing of a canvas %s', async (_, ended, script) => {
    const body = `<canvas id="seen"></canvas><canvas id="low" style="position:absolute;top:900px"></canvas>`;
    const course = { body, work: [timer], script: `if (ms === 300) ${script}` };
    expect(await endOf({ ...course, scope: 'visible' })).toBe(ended);
  });

  describe('with a refresh', () => {
    test('waits until the browser has reported the navigation', async () => {
      expect(await endOf({ work: [], refresh: '1;url=/next' })).toBe(1700);
      expect(await endOf({ work: [], refresh: '1;url=/next', loadedMs: 500 })).toBe(2200);
      expect(await endOf({ work: [], refresh: '1;url=/next', maxMs: 1000 })).toBe(0);
      expect(await endOf({ work: [], refresh: '1;url=/next', maxMs: 1001 })).toBe(1050);
      expect(await endOf({ work: [], refresh: '60;url=/next', maxMs: 90_000, loadedMs: null })).toBeGreaterThan(0);
    });

    test('reads the element before the header', async () => {
      // Longer than the test takes, because the browser follows the element.
      const head = (content: string) => `<meta http-equiv="Refresh" content="${content}">`;
      const course = { work: [], maxMs: 90_000 };
      expect(await endOf({ ...course, head: head('60;url=/next'), refresh: '1;url=/next' })).toBe(60_700);
      expect(await endOf({ ...course, head: head('60;url=/'), refresh: '1;url=/next' })).toBe(0);
    });

    test.each([
      ['1;/next', true],
      ['1,/next', true],
      ['1 /next', true],
      ['  1.0  ;  url  =  "/next"', true],
      ["1;url='/next'", true],
      ["1;url= '/next'", true],
      ['x1;url=/next', false],
      ['x 1;url=/next', false],
      ['1x;url=/next', false],
      ['1', false],
      ['1;url=http://[', false],
      ['1;url=/', false],
      ['1;URL=/', false],
      ['1 ;url=/', false],
      ['1; url=/', false],
      ['1;url =/', false],
      ['1;url= / ', false],
      ['1;"/"', false],
      ['1;http://page.test/', false],
    ])('waits for another document: %s, %s', async (refresh, isAwaited) => {
      expect(await endOf({ work: [], refresh })).toBe(isAwaited ? 1700 : 0);
    });

    test('resolves its URL as the document does', async () => {
      expect(await endOf({ work: [], head: '<base href="/other/">', refresh: '1;url=.' })).toBe(1700);
      expect(await endOf({ work: [], head: '<base href="/other/">', refresh: '1;url=..' })).toBe(0);
      // A document without a refresh.
      expect(await endOf({ work: [], head: '<base href="/other/">' })).toBe(0);
    });
  });

  test('notices changes of what is in view', async () => {
    const hide = (count: number) => `Array.from({ length: ${count} }, () => document.createElement('s'))`;
    for (const [change, inViewport, inDocument = inViewport] of [
      ["seen.title = 'new'", true],
      ["seen.title = 'old'", false],
      ["seen.firstChild.data = 'other'", true],
      ["seen.firstChild.data = 'text'", false],
      ["seen.replaceChildren('other')", true],
      ["seen.replaceChildren('text')", false],
      ["seen.replaceChildren('text', 'more')", true],
      ["pair.replaceChildren('text')", true],
      ["seen.append('more', document.createElement('s'))", true],
      ["use.setAttributeNS('http://www.w3.org/1999/xlink', 'href', '#b')", true],
      ["use.setAttributeNS('http://www.w3.org/1999/xlink', 'href', '#a')", false],
      ["document.append(document.createComment(''))", false],
      ["sheet.title = 'new'", true],
      ["sheet.title = 'new'; sheet.remove()", false],
      ['seen.remove()', true],
      ["seen.replaceChildren(document.createElement('s'))", true],
      ["hidden.title = 'new'", false],
      ["below.title = 'new'", false, true],
      ["lowest.title = 'new'", true],
      ["beside.title = 'new'", false, true],
      ["rightmost.title = 'new'", true],
      ["above.title = 'new'", false, true],
      ["topmost.title = 'new'", true],
      ["leftOut.title = 'new'", false, true],
      ["leftmost.title = 'new'", true],
      ["document.head.append(document.createElement('meta'))", false],
      ["document.head.append(document.createElement('style'))", true],
      ["document.body.append(document.createElement('script'))", false],
      ["below.append(document.createElement('b'))", false, true],
      // Of the nodes that were added to one parent, at most 20 count. In each poll, at most 200 changed nodes count.
      [`seen.append(...${hide(19)}, document.createElement('b'))`, true],
      [`seen.append(...${hide(20)}, document.createElement('b'))`, false],
      [`many(199); seen.title = 'new'`, true],
      [`many(200); seen.title = 'new'`, false],
    ] as const) {
      expect(await notices(change, 'visible'), change).toBe(inViewport);
      expect(await notices(change, 'all'), change).toBe(inDocument);
    }
  });
});
