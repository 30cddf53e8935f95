import { describe, expect, test } from 'vitest';
import { createLogFormat, wantsColors } from '../../../deploy/local/log-format.ts';
import { natsLogEntry } from '../../../deploy/local/nats-log.ts';

const escape = '\u001B';
const plain = createLogFormat(false);
const time = new Date(2026, 0, 2, 3, 4, 5, 6).toISOString();
const entry = (fields: object) =>
  JSON.stringify({ level: 'info', time, service: 'front', pod: 'front', msg: 'hi', ...fields });

describe('log format', () => {
  test('formats a JSON line for a person', () => {
    expect(plain.output('front', entry({ uuid: 'u-1', ms: 12, nested: { a: [1] } }))).toBe(
      'front        03:04:05.006 info  hi uuid=u-1 ms=12 nested={ a: [ 1 ] }',
    );
  });

  test('shows the message of an error, and its stack at the level error', () => {
    const err = { type: 'Error', message: 'broken', stack: 'Error: broken\n    at x' };
    expect(plain.output('front', entry({ level: 'warn', err }))).toBe('front        03:04:05.006 warn  hi (broken)');
    expect(plain.output('front', entry({ level: 'error', err })).split('\n')).toEqual([
      'front        03:04:05.006 error hi (broken)',
      'front          Error: broken',
      'front              at x',
    ]);
  });

  test('shows at most six fields, and truncates long values', () => {
    const line = plain.output('front', entry({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 'x'.repeat(500), g: 7 }));
    expect(line).toContain(`f=${'x'.repeat(120)}…`);
    expect(line).not.toContain('g=7');
  });

  test.each(['plain text', '{"not":"a log line"}', '{broken', '[1]', ''])('leaves "%s" unchanged', (line) => {
    expect(plain.output('us-east', line)).toBe(`us-east      ${line}`);
  });

  test('gives each name its own color, unless colors are off', () => {
    const colorful = createLogFormat(true);
    const [front, renderer] = ['front', 'us-east'].map((name) => colorful.output(name, 'text'));
    expect(front?.startsWith(`${escape}[36mfront`)).toBe(true);
    expect(renderer?.startsWith(`${escape}[35mus-east`)).toBe(true);
    expect(plain.output('front', entry({ level: 'fatal' }))).not.toContain(escape);
  });

  test('uses colors for terminals that want them', () => {
    expect(wantsColors({ isTTY: true }, {})).toBe(true);
    expect(wantsColors({ isTTY: false }, {})).toBe(false);
    expect(wantsColors({}, {})).toBe(false);
    expect(wantsColors({ isTTY: true }, { NO_COLOR: '1' })).toBe(false);
    expect(wantsColors({ isTTY: false }, { FORCE_COLOR: '1' })).toBe(true);
  });

  test('omits informational lines of nats-server, and keeps its warnings', () => {
    expect(natsLogEntry('[12] 2026/01/02 03:04:05.006001 [INF] Server is ready')).toBeUndefined();
    const warning = natsLogEntry('[12] 2026/01/02 03:04:05.006001 [WRN] Disk is slow') ?? '';
    expect(plain.output('nats', warning)).toBe('nats         03:04:05.006 warn  Disk is slow');
    expect(natsLogEntry('panic: something')).toBe('panic: something');
  });
});
