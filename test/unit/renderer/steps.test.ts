import { parseSelector } from '@webcapture/shared/api/selector.ts';
import type { Step } from '@webcapture/shared/api/steps.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { DocumentGoneError } from '../../../services/renderer/browser/isolated-world.ts';
import { callTimeoutMs } from '../../../services/renderer/page/deadline.ts';
import { runSteps } from '../../../services/renderer/page/steps.ts';
import { type Answer, AnsweringPage } from '../../harness/answering-page.ts';
import { defaultOptions } from '../../harness/records.ts';

const url = 'http://shop.test/';
const never = new Promise<never>(() => undefined);

interface Behaviour {
  readonly answers?: Readonly<Record<string, Answer>>;
  readonly document?: object;
  readonly press?: () => Promise<unknown>;
  readonly loaded?: () => void;
}

/** Returns an open page of `url` on which all steps succeed, unless its behaviour is different. */
function pageOf({ answers, document, press, loaded }: Behaviour = {}): AnsweringPage {
  const found = { untilFound: 'found', pointToClick: { x: 3, y: 4 } };
  const used = { enterText: 'done', chooseOption: 'done', focusElement: 'done', scrollElement: 'done' };
  const page = new AnsweringPage(
    { ...found, ...used, ...answers },
    {
      document: { moving: false, cutOff: never, settled: async () => undefined, ...document },
      proxySession: { wasBlocked: () => false, failureOf: () => undefined },
    },
  );
  Object.assign(page.events, {
    url: () => url,
    keyboard: {
      press: async (key: string) => {
        page.calls.push(['press', key]);
        await press?.();
      },
    },
    waitForLoadState: async (...args: unknown[]) => {
      page.calls.push(['waitForLoadState', ...args]);
      loaded?.();
    },
  });
  return page;
}

const redact = (text: string) => text.replaceAll('hunter2', '[redacted]');
const run = ({ open }: AnsweringPage, steps: readonly Step[]) =>
  runSteps(open, { source: { kind: 'url', url }, options: { ...defaultOptions, timeout: 1000 }, steps, redact });

/** Returns the error of steps. */
const failureOf = (page: AnsweringPage, ...steps: readonly Step[]): Promise<unknown> =>
  run(page, steps).then(
    () => expect.fail('the steps did not fail'),
    (error: unknown) => error,
  );

afterEach(() => {
  vi.useRealTimers();
});

describe('runSteps', () => {
  const parts = parseSelector('#a');
  const left = expect.toSatisfy((ms: number) => ms > 4000 && ms <= 5000);
  const point = { x: 3, y: 4 };
  const button = { ...point, button: 'left', clickCount: 1 };
  const find = ['untilFound', { parts, state: 'visible' }, left];
  const rows: readonly (readonly [step: Step, calls: readonly unknown[]])[] = [
    [
      { click: '#a' },
      [
        find,
        ['pointToClick', parts, left, 'enabled'],
        ['Input.dispatchMouseEvent', { ...point, type: 'mouseMoved' }],
        ['Input.dispatchMouseEvent', { ...button, type: 'mousePressed' }],
        ['Input.dispatchMouseEvent', { ...button, type: 'mouseReleased' }],
      ],
    ],
    [
      { hover: '#a' },
      [find, ['pointToClick', parts, left, 'still'], ['Input.dispatchMouseEvent', { ...point, type: 'mouseMoved' }]],
    ],
    [{ type: { selector: '#a', text: 'b' } }, [find, ['enterText', parts, 'b', 'http://shop.test', left]]],
    [{ select: { selector: '#a', value: 'b' } }, [find, ['chooseOption', parts, 'b', 'http://shop.test', left]]],
    [{ press: { key: 'Tab' } }, [['press', 'Tab']]],
    [{ press: { key: 'Tab', selector: '#a' } }, [find, ['focusElement', parts, left], ['press', 'Tab']]],
    [{ scroll: { selector: '#a' } }, [find, ['scrollElement', parts, {}, false, left]]],
    [{ scroll: { selector: '#a', by: 9 } }, [find, ['scrollElement', parts, { by: 9 }, true, left]]],
    [{ scroll: { by: 9 } }, [['scrollElement', null, { by: 9 }, true, left]]],
    [{ scroll: { to: 'top' } }, [['scrollElement', null, { to: 'top' }, true, left]]],
    [{ waitFor: '#a' }, [['untilFound', { parts, state: 'visible' }, expect.any(Number)]]],
    [{ waitFor: { selector: '#a' } }, [['untilFound', { parts, state: 'visible' }, expect.any(Number)]]],
    [
      { waitFor: { selector: '#a', state: 'hidden' } },
      [['untilFound', { parts, state: 'hidden' }, expect.toSatisfy((ms: number) => ms > 9000 && ms <= 10_000)]],
    ],
    [{ wait: 1 }, []],
  ];
  test.each(rows)('runs the step %j, and looks whether the page moves', async (step, calls) => {
    const page = pageOf();
    expect(await run(page, [step])).toEqual([]);
    expect(page.calls).toEqual([...calls, ['untilFrames', 2]]);
  });

  test('gives calls of the page more time than the step has', async () => {
    const page = pageOf();
    const steps = [{ type: { selector: '#a', text: 'b' } }, { press: { key: 'a' } }, { wait: 2 }];
    await run(page, steps);
    expect(page.limits.get('enterText')?.timeoutMs).toBeGreaterThan(callTimeoutMs + 4000);
    expect(Object.fromEntries(page.waits)).toEqual({ 'the key': callTimeoutMs, 'a step': 2 + callTimeoutMs });
  });

  test.each([
    ['enterText', { type: { selector: '#a', text: 'b' } }, 'type "#a"'],
    ['chooseOption', { select: { selector: '#a', value: 'b' } }, 'select "#a"'],
    ['focusElement', { press: { selector: '#a', key: 'Tab' } }, 'press Tab in "#a"'],
    ['scrollElement', { scroll: { selector: '#a' } }, 'scroll "#a"'],
  ])('names a step whose call of %s fails', async (name, step, label) => {
    for (const [obstacle, message] of [
      ['elsewhere', 'the page has navigated to another origin.'],
      ['missing', 'its selector matched an element that has disappeared.'],
      ['unfocusable', 'its selector matched an element that does not take the focus.'],
      ['disabled', 'its selector matched an element that is disabled.'],
      ['readOnly', 'its selector matched a field that is read-only.'],
      ['noField', 'its selector matched an element that is not a field for text.'],
      ['invalid', 'its selector matched a field that does not accept the text.'],
      ['noSelect', 'its selector matched an element that is not a select element.'],
      ['noOption', 'its selector matched a select element without an enabled option that has this value or label.'],
    ] as const) {
      expect(await failureOf(pageOf({ answers: { [name]: obstacle } }), { wait: 0 }, step)).toMatchObject({
        code: 'CAPTURE_FAILED',
        causedBy: 'client',
        message: `Step 2 (${label}) failed: ${message}`,
      });
    }
  });

  test.each([
    [{ click: '#a' }, 'click "#a"', 'matched no visible element within 5000 ms.'],
    [{ hover: '#a' }, 'hover "#a"', 'matched no visible element within 5000 ms.'],
    [{ scroll: { selector: '#a' } }, 'scroll "#a"', 'matched no visible element within 5000 ms.'],
  ])('names the step %j, whose element is not found', async (step, label, message) => {
    const answers = { untilFound: 'missed', describeSearch: { kind: 'none', part: 0 } };
    expect(await failureOf(pageOf({ answers }), step)).toMatchObject({
      message: `Step 1 (${label}) failed: its selector ${message} No frame matches "#a".`,
    });
    expect(await failureOf(pageOf({ answers: { untilFound: 'refused' } }), step)).toMatchObject({
      message: `Step 1 (${label}) failed: its selector is not a selector that the browser supports.`,
    });
  });

  test('names an element that does not reach its state', async () => {
    const answers = { untilFound: 'missed', describeSearch: { kind: 'none', part: 0 } };
    const gone = { ...answers, describeSearch: () => Promise.reject(new DeadlineError('a search', 1)) };
    const step = { waitFor: { selector: '#a', state: 'hidden' } } as const;
    expect(await failureOf(pageOf({ answers }), step)).toMatchObject({
      causedBy: 'client',
      message: 'Step 1 (waitFor "#a") failed: its element was not hidden within 10000 ms. No frame matches "#a".',
    });
    expect(await failureOf(pageOf({ answers: gone }), { waitFor: '#a' })).toMatchObject({
      message: 'Step 1 (waitFor "#a") failed: its element was not visible within 10000 ms.',
    });
    expect(await failureOf(pageOf({ answers: { untilFound: 'refused' } }), step)).toMatchObject({
      message: 'Step 1 (waitFor "#a") failed: its selector is not a selector that the browser supports.',
    });
  });

  test('names a step during which the page does not respond, or keeps navigating', async () => {
    const late = () => Promise.reject(new DeadlineError('a step', 1));
    const gone = () => Promise.reject(new DocumentGoneError(undefined));
    for (const [step, label, name] of [
      [{ type: { selector: '#a', text: 'b' } }, 'type "#a"', 'enterText'],
      [{ scroll: { by: 9 } }, 'scroll', 'scrollElement'],
    ] as const) {
      const failed = await failureOf(pageOf({ answers: { [name]: late } }), step);
      expect(failed).toMatchObject({
        code: 'CAPTURE_FAILED',
        causedBy: 'page',
        message: `Step 1 (${label}) failed: the page did not respond.`,
      });
      expect((failed as Error).cause).toBeInstanceOf(DeadlineError);
    }
    expect(
      await failureOf(pageOf({ answers: { describeSearch: gone }, press: gone }), { press: { key: 'Tab' } }),
    ).toMatchObject({
      causedBy: 'page',
      message: 'Step 1 (press Tab) failed: the page kept navigating.',
    });
    vi.useFakeTimers({ toFake: ['performance'] });
    const leave = () => {
      vi.advanceTimersByTime(5000);
      return gone();
    };
    const page = pageOf({ answers: { enterText: leave } });
    expect(await failureOf(page, { type: { selector: '#a', text: 'b' } })).toMatchObject({
      causedBy: 'client',
      message: 'Step 1 (type "#a") failed: the page kept navigating.',
    });
  });

  test('continues if the page is busy with a key', async () => {
    const page = pageOf({ press: () => Promise.reject(new DeadlineError('the key', 1)) });
    await run(page, [{ press: { key: 'a' } }, { press: { key: 'b' } }]);
    expect(page.names).toEqual(['press', 'untilFrames', 'press', 'untilFrames']);
  });

  test('passes on errors that the page has not caused', async () => {
    const ours = new ServiceError('CAPTURE_FAILED', 'broken', { causedBy: 'service' });
    const broken = new Error('broken');
    for (const error of [ours, broken]) {
      expect(await failureOf(pageOf({ press: () => Promise.reject(error) }), { press: { key: 'a' } })).toBe(error);
    }
  });

  test('removes the values of steps from messages', async () => {
    const failed = new ServiceError('NAVIGATION_FAILED', 'hunter2 is gone.', { causedBy: 'page', cause: 'x' });
    const page = pageOf({ press: () => Promise.reject(failed) });
    const told = await failureOf(page, { press: { key: 'a' } });
    expect(told).toMatchObject({
      code: 'NAVIGATION_FAILED',
      causedBy: 'page',
      message: 'Step 1 (press a) failed: [redacted] is gone.',
    });
    expect((told as Error).cause).toBe('x');
  });

  test('opens no page of another site', async () => {
    const page = pageOf();
    expect(await failureOf(page, { goto: 'http://other.test/' })).toMatchObject({
      message:
        'Step 1 (goto "http://other.test/") failed: it leads to another site, other.test. Steps stay on the site of url, shop.test.',
    });
    expect(page.calls).toEqual([]);
  });

  test('fails if a step leads to another site', async () => {
    const page = pageOf({ press: async () => void Object.assign(page.events, { url: () => 'http://other.test/' }) });
    expect(await failureOf(page, { press: { key: 'a' } })).toMatchObject({
      message: expect.stringMatching(/^Step 1 \(press a\) failed: it leads to another site, other\.test\./),
    });
    const left: AnsweringPage = pageOf({
      answers: { untilFrames: () => void Object.assign(left.events, { url: () => 'http://other.test/' }) },
    });
    expect(await failureOf(left, { wait: 0 })).toMatchObject({
      message: expect.stringMatching(/^Step 1 \(wait 0\) failed: it leads to another site, other\.test\./),
    });
  });

  test('fails if a step leads to a page that cannot be opened', async () => {
    const page = pageOf({ press: async () => void Object.assign(page.events, { url: () => 'chrome-error://x/' }) });
    expect(await failureOf(page, { press: { key: 'a' } })).toMatchObject({
      code: 'NAVIGATION_FAILED',
      message: expect.stringMatching(/^Step 1 \(press a\) failed: /),
    });
  });

  test('waits for the documents that steps open, within one timeout', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const takes = [400, 900, 0];
    const page = pageOf({
      document: { moving: true },
      loaded: () => vi.advanceTimersByTime(takes.shift() ?? 0),
    });
    const key = { press: { key: 'a' } };
    await run(page, [key, key, key]);
    expect(page.calls.filter(([name]) => name === 'waitForLoadState')).toEqual([
      ['waitForLoadState', 'load', { timeout: 1000 }],
      ['waitForLoadState', 'load', { timeout: 600 }],
      ['waitForLoadState', 'load', { timeout: 1 }],
    ]);
  });

  test('gives all steps a minute, without navigations', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const takes = [5000, 52_000, 0];
    const page = pageOf({
      document: { moving: true },
      loaded: () => vi.advanceTimersByTime(70_000),
      press: async () => void vi.advanceTimersByTime(takes.shift() ?? 0),
    });
    const press = { press: { key: 'a' } };
    const scroll = { scroll: { by: 9 } };
    await run(page, [press, scroll, press, scroll]);
    const limits = page.calls.filter(([name]) => name === 'scrollElement').map((call) => call.at(-1));
    expect(limits).toEqual([5000, 3000]);
    takes.splice(0, 1, 60_000);
    expect(await failureOf(page, press, { wait: 0 }, press)).toMatchObject({
      causedBy: 'client',
      message: 'Step 3 (press a) failed: the steps took more than 60 s in all.',
    });
  });
});
