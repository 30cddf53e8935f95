import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { describe, expect, test } from 'vitest';
import { type CommandTarget, DocumentGoneError } from '../../../services/renderer/browser/isolated-world.ts';
import { CaptureDeadline } from '../../../services/renderer/page/deadline.ts';
import { PageWorld, step } from '../../../services/renderer/page/world.ts';

type Answer = (expression: string, count: number) => unknown;

/** The answer to an expression that throws. */
const thrown = { result: {}, exceptionDetails: { text: 'TypeError' } };

/** A world whose expressions get these answers, and the commands that it has sent. An answer that is an Error rejects the command. */
function worldOf(answer: Answer, maxTimeoutMs?: number) {
  const commands: string[] = [];
  const expressions: string[] = [];
  const send = async (name: string, params: { expression?: string }) => {
    commands.push(name);
    if (name === 'Page.createIsolatedWorld') return { executionContextId: commands.length };
    if (params.expression === undefined) return { object: {} };
    expressions.push(params.expression);
    const value = await answer(params.expression, expressions.length);
    if (value instanceof Error) throw value;
    return value === thrown ? value : { result: { value } };
  };
  const deadline = new CaptureDeadline(60_000, new AbortController().signal);
  return { world: new PageWorld({ send } as CommandTarget, 'frame', deadline, maxTimeoutMs), commands, expressions };
}

const limit = { timeoutMs: 1000, what: 'a call' };
const add = (a: number, b: number) => a + b;

describe('PageWorld', () => {
  test('calls functions by their source, with the arguments and helpers', async () => {
    const { world, commands, expressions } = worldOf(() => 3);
    expect(await world.call(add, [1, 2], limit, [add])).toBe(3);
    await world.call(add, [1, 2], limit);
    expect(commands).toEqual(['Page.createIsolatedWorld', 'Runtime.evaluate', 'Runtime.evaluate']);
    const source = add.toString();
    expect(expressions[0]).toMatch(/^\{ .* \}$/s);
    expect(expressions[0]).toContain(` const add = ${source}; (${source})(1, 2) }`);
    expect(expressions[1]).not.toContain('const add');
    for (const name of ['own', 'pageState', 'waits', 'activity']) expect(expressions[0]).toContain(`const ${name} = `);
  });

  test('callEach calls several functions with one command', async () => {
    const { world, expressions } = worldOf(() => [3, 7]);
    expect(await world.callEach([step(add, 1, 2), step(add, 3, 4)], limit)).toEqual([3, 7]);
    expect(expressions).toHaveLength(1);
    const source = add.toString();
    expect(expressions[0]).toContain(`results.push(await (${source})(1, 2)); results.push(await (${source})(3, 4));`);
  });

  test('opens a new world in a new document, and when its document is gone', async () => {
    const { world, commands } = worldOf((_, count) => (count === 3 ? new Error('no context') : 1));
    const opened = () => commands.filter((name) => name === 'Page.createIsolatedWorld').length;
    await world.call(add, [1, 2], limit);
    world.reset();
    await world.call(add, [1, 2], limit);
    expect(opened()).toBe(2);
    await expect(world.call(add, [1, 2], limit)).rejects.toThrow(DocumentGoneError);
    await world.call(add, [1, 2], limit);
    expect(opened()).toBe(3);
  });

  test('names the cause of a failure in a page without a root element', async () => {
    const { world } = worldOf((expression) => (expression.startsWith('document') ? true : thrown));
    await expect(world.call(add, [1, 2], limit)).rejects.toMatchObject({
      code: 'CAPTURE_FAILED',
      causedBy: 'page',
      message: 'The page has no root element: its scripts have removed it.',
      cause: { message: 'TypeError' },
    });
    const other = worldOf((expression) => (expression.startsWith('document') ? false : thrown));
    await expect(other.world.call(add, [1, 2], limit)).rejects.toThrow('TypeError');
    const gone = worldOf((expression) => (expression.startsWith('document') ? new Error('gone') : thrown));
    await expect(gone.world.call(add, [1, 2], limit)).rejects.toThrow('TypeError');
  });

  test('callInAny tries again in the next document, at most five times', async () => {
    const { world, expressions } = worldOf((_, count) => (count < 6 ? new Error('gone') : 1));
    expect(await world.callInAny(add, [1, 2], limit)).toBe(1);
    expect(expressions).toHaveLength(6);
    const always = worldOf(() => new Error('gone'));
    await expect(always.world.callInAny(add, [1, 2], limit)).rejects.toThrow(DocumentGoneError);
    expect(always.expressions).toHaveLength(6);
    const failing = worldOf((expression) => (expression.startsWith('document') ? false : thrown));
    await expect(failing.world.callInAny(add, [1, 2], limit)).rejects.toThrow('TypeError');
    expect(failing.expressions).toHaveLength(2);
  });

  test('callWithFrame resolves the element of a frame and calls the function with it', async () => {
    const { world, commands } = worldOf(() => 1);
    await world.callWithFrame('inner', () => undefined, [], limit);
    expect(commands).toEqual([
      'DOM.getFrameOwner',
      'Page.createIsolatedWorld',
      'DOM.resolveNode',
      'Runtime.callFunctionOn',
    ]);
  });

  test('ends calls at their timeout', async () => {
    const { world } = worldOf(() => new Promise(() => undefined));
    await expect(world.call(add, [1, 2], { timeoutMs: 20, what: 'a call' })).rejects.toThrow(DeadlineError);
    await expect(world.call(add, [1, 2], { timeoutMs: 20, what: 'a call' })).rejects.toThrow('a call');
  });

  test('waits longer for the calls of a page whose scripts were stopped, up to the maximum', () => {
    const { world } = worldOf(() => 1);
    expect([world.isStopped, world.timeoutOf(10)]).toEqual([false, 10]);
    world.noteStop();
    expect([world.isStopped, world.timeoutOf(10), world.timeoutOf(20_000)]).toEqual([true, 15_000, 20_000]);
    expect(worldOf(() => 1, 100).world.timeoutOf(1000)).toBe(100);
  });

  test('calls functions in the page even if the scripts of the page are disabled', async () => {
    const { world, commands, expressions } = worldOf(() => 1);
    await world.disableScripts();
    expect(commands).toEqual(['Emulation.setScriptExecutionDisabled']);
    await world.call(add, [1, 2], limit);
    expect(expressions[0]).toContain('const setTimeout = ');
  });
});
