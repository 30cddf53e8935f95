import { describe, expect, test } from 'vitest';
import { accepted, url, useValidation } from './use-validation.ts';

const { ask } = useValidation();

const type = (text: unknown, selector: unknown = '#a') => ({ type: { selector, text } });
const selector = 'a'.repeat(1000);

describe('steps', () => {
  test.each<[string, readonly object[]]>([
    ['30 steps', Array(30).fill({ click: '#a' })],
    ['the longest address', [{ goto: `https://example.com/${'a'.repeat(2028)}` }]],
    ['the longest selectors', [{ hover: selector }, { waitFor: selector }, { scroll: { selector } }]],
    ['the longest text, and none', [type('a'.repeat(4096), selector), type('')]],
    ['the longest value', [{ select: { selector, value: 'a'.repeat(1024) } }]],
    ['keys', ['Enter', 'Shift+Tab', 'ArrowDown', 'a', '~', '+'].map((key) => ({ press: { key, selector } }))],
    ['the longest distances', [{ scroll: { by: -100_000 } }, { scroll: { selector: '#a', by: 100_000 } }]],
    ['both ends', [{ scroll: { to: 'top' } }, { scroll: { to: 'bottom', selector: '#a' } }]],
    ['states', ['visible', 'attached', 'hidden'].map((state) => ({ waitFor: { selector: 'a >> b', state } }))],
    ['the longest waits', [{ wait: 0 }, { wait: 15_000 }, { wait: 15_000 }]],
    ['all texts of 30 steps', Array(30).fill(type('a'.repeat(4096)))],
  ])('%s: accepted', async (_name, steps) => {
    expect(await ask({ url, steps })).toMatchObject(accepted);
  });

  test('steps of supplied HTML are accepted', async () => {
    expect(await ask({ html: '<p>', steps: [{ click: 'p' }, type('a')] })).toMatchObject(accepted);
  });

  const actions = 'goto, click, type, press, select, hover, scroll, waitFor, wait';
  test.each<[object, string]>([
    [{ steps: [] }, 'steps must be a list, not empty, of at most 30'],
    [{ steps: Array(31).fill({ click: '#a' }) }, 'steps must be a list, not empty, of at most 30'],
    [{ steps: { click: '#a' } }, 'steps must be a list, not empty, of at most 30, not an object'],
    [{ steps: 'type hunter2' }, 'steps must be a list, not empty, of at most 30, not a string of 12 characters'],
    [{ steps: ['type hunter2'] }, `steps.0 must be an object with one of ${actions}, not a string of 12 characters`],
    [{ steps: [{ click: '#a' }, {}] }, `steps.1 must be an object with one of ${actions}`],
    [{ steps: [{ click: '#a', hover: '#b' }] }, `steps.0 must be an object with one of ${actions}`],
    [{ steps: [{ clik: '#a' }] }, 'steps.0.clik is not a field of the request; did you mean steps.0.click?'],
    [{ steps: [{ click: '' }] }, 'steps.0.click must be a string of 1 to 1000 characters'],
    [{ steps: [{ click: 'text=Sign in' }] }, 'steps.0.click must be a CSS selector, not "text=Sign in" ('],
    [{ steps: [{ click: `${selector}a` }] }, 'steps.0.click must be a string of 1 to 1000 characters'],
    [{ steps: [{ click: '#a' }, { goto: '/account' }] }, 'steps.1.goto must be an absolute http or https address'],
    [{ steps: [{ goto: 'file:///etc/passwd' }] }, 'steps.0.goto must be an absolute http or https address'],
    [{ steps: [{ goto: `https://example.com/${'a'.repeat(2029)}` }] }, 'steps.0.goto must be a string of 1 to 2048'],
    [{ steps: [{ goto: 'https://u:hunter2@example.com/' }] }, 'steps.0.goto must have no user name or password'],
    [{ url: undefined, html: '<p>', steps: [{ goto: url }] }, 'steps.0.goto needs url'],
    [{ steps: [type(22_222_222)] }, 'steps.0.type.text must be a string of at most 4096 characters, not a number'],
    [{ steps: [type(`${'a'.repeat(4090)}hunter2`)] }, 'steps.0.type.text must be a string of at most 4096 characters'],
    [{ steps: [{ type: 'hunter2' }] }, 'steps.0.type must be an object with selector, text, not a string'],
    [{ steps: [{ type: { text: 'hunter2' } }] }, 'steps.0.type.selector is required'],
    [{ steps: [{ type: { selector: '#a', value: 'hunter2' } }] }, 'steps.0.type.text is required'],
    [{ steps: [type('hunter2', '#1')] }, 'steps.0.type.selector must be a CSS selector, not "#1" ('],
    [
      { steps: [{ select: { selector: '#a', value: 'hunter2'.repeat(147) } }] },
      'steps.0.select.value must be a string of at most 1024 characters',
    ],
    [{ steps: [{ press: { key: 'Return' } }] }, 'steps.0.press.key must be a string like "Enter", not "Return"'],
    [{ steps: [{ press: { key: 'Control+W' } }] }, 'steps.0.press.key must be a string like "Enter"'],
    [{ steps: [{ press: { key: 'é' } }] }, 'steps.0.press.key must be a string like "Enter"'],
    [{ steps: [{ scroll: {} }] }, 'steps.0.scroll needs selector, by or to'],
    [{ steps: [{ scroll: { by: 1, to: 'top' } }] }, 'steps.0.scroll: send either by or to, not both'],
    [{ steps: [{ scroll: { by: 100_001 } }] }, 'steps.0.scroll.by must be an integer from -100000 to 100000'],
    [{ steps: [{ scroll: { by: -100_001 } }] }, 'steps.0.scroll.by must be an integer from -100000 to 100000'],
    [{ steps: [{ scroll: { to: 'left' } }] }, 'steps.0.scroll.to must be one of top, bottom, not "left"'],
    [
      { steps: [{ waitFor: 5 }] },
      'steps.0.waitFor must be a string of 1 to 1000 characters, or an object with selector',
    ],
    [{ steps: [{ waitFor: { selector: '#a', state: 'gone' } }] }, 'steps.0.waitFor.state must be one of visible'],
    [{ steps: [{ waitFor: { selector: '#1' } }] }, 'steps.0.waitFor.selector must be a CSS selector'],
    [{ steps: [{ wait: -1 }] }, 'steps.0.wait must be an integer from 0 to 15000, not -1'],
    [{ steps: [{ wait: 15_001 }] }, 'steps.0.wait must be an integer from 0 to 15000, not 15001'],
    [{ steps: [{ wait: 15_000 }, { wait: 15_000 }, { wait: 1 }] }, 'steps must wait for at most 30000 ms in all'],
    [{ steps: [{ click: '#a' }], click: ['#b'] }, 'steps: send either steps or click, not both'],
    [{ steps: [type('hunter2')], background: true }, 'type and select of steps cannot be combined with background'],
    [
      { steps: [{ select: { selector: '#a', value: 'hunter2' } }], persistence: { enabled: true } },
      'type and select of steps cannot be combined with persistence here: they would have to be stored',
    ],
    [
      { css: '\n'.repeat(65_536), steps: Array(30).fill(type('\n'.repeat(4096))) },
      'must have at most 196608 bytes together, as JSON',
    ],
  ])('%j is refused without repeating the value', async (body, message) => {
    const answer = await ask({ url, ...body });
    expect(answer).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(answer.message).toContain(message);
    expect(answer.message).not.toContain('hunter2');
    expect(answer.message).not.toContain('2222');
  });

  test('an address that the egress policy refuses is named', async () => {
    const answer = await ask({ url, steps: [{ click: '#a' }, { goto: 'http://10.0.0.1/' }] });
    expect(answer).toMatchObject({ status: 400, code: 'URL_BLOCKED' });
    expect(answer.message).toMatch(/^steps\.1\.goto: /);
  });

  test('steps without values may be combined with background', async () => {
    expect(await ask({ url, steps: [{ click: '#a' }], background: true })).toMatchObject(accepted);
  });
});
