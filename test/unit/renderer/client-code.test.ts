import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { describe, expect, test } from 'vitest';
import { DocumentGoneError } from '../../../services/renderer/browser/isolated-world.ts';
import { addStyle, runScript } from '../../../services/renderer/page/client-code.ts';
import { AnsweringPage } from '../../harness/answering-page.ts';
import { defaultOptions } from '../../harness/records.ts';

const late = () => Promise.reject(new DeadlineError('a wait', 1));

describe('runScript', () => {
  const run = async (evaluated: unknown, answers: object = {}, parts: object = {}) => {
    const page = new AnsweringPage({ hasPainted: true, 'Runtime.evaluate': evaluated, ...answers }, parts);
    Object.assign(page.events, { waitForLoadState: async () => void page.calls.push(['followed']) });
    return { page, error: await runScript(page.open, 'return 1', defaultOptions) };
  };
  const errorOf = async (exception: object | undefined, lineNumber = 0) =>
    (await run({ exceptionDetails: { text: 'Uncaught', lineNumber, exception } })).error;
  /** Limits the wait for the script. */
  const timeUp = {
    deadline: {
      run: (work: Promise<unknown>, _ms: number, what: string) => (what === 'the script' ? late() : work),
    },
  };

  test('runs a script as the body of an async function in strict mode', async () => {
    const { page, error } = await run({});
    expect(error).toBeUndefined();
    const [params] = page.calls.find(([name]) => name === 'Runtime.evaluate')?.slice(1) ?? [];
    expect(params).toEqual({
      expression: "(async () => { 'use strict'; await (async () => {\nreturn 1\n})(); })()",
      awaitPromise: true,
      silent: true,
    });
    expect(page.waits.get('the script')).toBeGreaterThan(0);
    expect(page.names).toEqual(['hasPainted', 'Runtime.evaluate', 'untilFrames']);
  });

  test('waits for a document that the script navigates to', async () => {
    const document = { moving: true, settled: async () => undefined, cutOff: new Promise(() => undefined) };
    expect((await run({}, {}, { document })).page.names.at(-1)).toBe('followed');
    // The document of the script no longer exists then.
    expect((await run(() => Promise.reject(new Error('gone')), {}, { document })).error).toBeUndefined();
  });

  test('returns the message of an error with its line', async () => {
    const at = (line: number) => `Error: x\n    at f (<anonymous>:${line}:3)\n    at <anonymous>:9:1`;
    const error = (description: string) => ({ subtype: 'error', description });
    expect(await errorOf(error(at(4)))).toBe('Error: x (line 3)');
    expect(await errorOf(error('Error: x\n    at <anonymous>:2:3'))).toBe('Error: x (line 1)');
    expect(await errorOf(error('Error: x\n    at f (http://page.test/:7:1)'), 5)).toBe('Error: x');
    expect(await errorOf(error('SyntaxError: y'), 2)).toBe('SyntaxError: y (line 2)');
    expect(await errorOf({ value: 7 })).toBe('7');
    expect(await errorOf({ description: 'Object\n    at no stack' }, 1)).toBe('Object\n    at no stack (line 1)');
    expect(await errorOf(undefined)).toBe('Uncaught');
    expect(await errorOf({ value: '😀'.repeat(501) })).toBe('😀'.repeat(500));
  });

  test('is not run in a page whose scripts do not pause', async () => {
    const { page, error } = await run({}, { hasPainted: late });
    expect(error).toBe('The script was not run, since the scripts of the page did not pause.');
    expect(page.names).toEqual(['hasPainted']);
    await expect(run({}, { hasPainted: () => Promise.reject(new Error('broken')) })).rejects.toThrow('broken');
  });

  test('is ended at its limit only if it blocks the page', async () => {
    const waiting = await run({}, {}, timeUp);
    expect(waiting.error).toBe('The script timed out after 5 s.');
    expect(waiting.page.names).not.toContain('Runtime.terminateExecution');
    const answersThen = (second: () => unknown) => {
      const answers = [() => true, second];
      return { hasPainted: () => answers.shift()?.() };
    };
    const blocking = await run({}, answersThen(late), timeUp);
    expect(blocking.error).toBe(waiting.error);
    expect(blocking.page.names).toContain('Runtime.terminateExecution');
    const moved = await run(
      {},
      answersThen(() => Promise.reject(new DocumentGoneError(undefined))),
      timeUp,
    );
    expect(moved.page.names).not.toContain('Runtime.terminateExecution');
    await expect(
      run(
        {},
        answersThen(() => Promise.reject(new Error('broken'))),
        timeUp,
      ),
    ).rejects.toThrow('broken');
    const failing = { run: () => Promise.reject(new Error('ended')) };
    await expect(run({}, {}, { deadline: failing })).rejects.toThrow('ended');
  });
});

describe('addStyle', () => {
  const main = {};
  const inserted = [
    'DOM.enable',
    'CSS.enable',
    'CSS.createStyleSheet',
    'CSS.setStyleSheetText',
    'CSS.disable',
    'DOM.disable',
  ];

  async function styled() {
    const state = { loaderId: 'first', fails: false };
    const commands: (readonly [name: string, params?: object])[] = [];
    const send = async (name: string, params?: object) => {
      if (state.fails) throw new Error('the document is gone');
      if (name === 'Page.getFrameTree') return { frameTree: { frame: { loaderId: state.loaderId } } };
      commands.push(params === undefined ? [name] : [name, params]);
      return { styleSheetId: 'sheet' };
    };
    const page = new AnsweringPage({}, { frameId: 'main' });
    Object.assign(page.events, { context: () => ({ newCDPSession: async () => ({ send }) }), mainFrame: () => main });
    const style = await addStyle(page.open, 'p {}');
    const takeNames = () => commands.splice(0).map(([name]) => name);
    return { page, style, state, commands, takeNames };
  }

  test('adds the sheet to each document once', async () => {
    const { page, style, state, commands, takeNames } = await styled();
    await style.keep();
    expect(commands).toContainEqual(['CSS.createStyleSheet', { frameId: 'main', force: false }]);
    expect(commands).toContainEqual(['CSS.setStyleSheetText', { styleSheetId: 'sheet', text: 'p {}' }]);
    expect(takeNames()).toEqual(inserted);
    expect(page.calls).toEqual([['noteAddedStyle']]);
    await style.keep();
    expect(takeNames()).toEqual([]);
    state.loaderId = 'second';
    page.events.emit('framenavigated', {});
    page.events.emit('framenavigated', main);
    await style.keep();
    expect(takeNames()).toEqual(inserted);
  });

  test('fails if the document is gone, and works in the next one', async () => {
    const { page, style, state, takeNames } = await styled();
    state.fails = true;
    page.events.emit('framenavigated', main);
    await expect(style.keep()).rejects.toThrow(DocumentGoneError);
    state.fails = false;
    await style.keep();
    expect(takeNames()).toEqual(inserted);
  });

  test('does not follow the page after the capture', async () => {
    const { page, state, takeNames } = await styled();
    page.events.emit('framenavigated', {});
    for (const cleanUp of page.cleanUps) cleanUp();
    expect(page.events.eventNames()).toEqual([]);
    state.loaderId = 'second';
    page.events.emit('framenavigated', main);
    await new Promise<void>((resolve) => void setImmediate(resolve));
    expect(takeNames()).toEqual([]);
  });
});
