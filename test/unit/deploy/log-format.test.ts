import { describe, expect, test } from 'vitest';
import { createLogFormat, wantsColours } from '../../../deploy/local/log-format.ts';
import { natsLogEntry } from '../../../deploy/local/nats-log.ts';

const escape = '\u001B';
const plain = createLogFormat(false);
const time = new Date(2026, 0, 2, 3, 4, 5, 6).toISOString();
const entry = (fields: object) =>
  JSON.stringify({ level: 'info', time, service: 'front', pod: 'front', msg: 'hi', ...fields });

describe('log format', () => {
  test('a JSON line becomes readable', () => {
    expect(plain.output('front', entry({ uuid: 'u-1', ms: 12, nested: { a: [1] } }))).toBe(
      'front        03:04:05.006 info  hi uuid=u-1 ms=12 nested={ a: [ 1 ] }',
    );
  });

  test('an error shows its message, and its stack when it is serious', () => {
    const err = { type: 'Error', message: 'broken', stack: 'Error: broken\n    at x' };
    expect(plain.output('front', entry({ level: 'warn', err }))).toBe('front        03:04:05.006 warn  hi (broken)');
    expect(plain.output('front', entry({ level: 'error', err })).split('\n')).toEqual([
      'front        03:04:05.006 error hi (broken)',
      'front          Error: broken',
      'front              at x',
    ]);
  });

  test('few fields, and none of them long', () => {
    const line = plain.output('front', entry({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 'x'.repeat(500), g: 7 }));
    expect(line).toContain(`f=${'x'.repeat(120)}…`);
    expect(line).not.toContain('g=7');
  });

  test.each(['plain text', '{"not":"a log line"}', '{broken', '[1]', ''])('"%s" passes as it is', (line) => {
    expect(plain.output('us-east', line)).toBe(`us-east      ${line}`);
  });

  test('each name has its colour, and none without colours', () => {
    const colourful = createLogFormat(true);
    const [front, renderer] = ['front', 'us-east'].map((name) => colourful.output(name, 'text'));
    expect(front?.startsWith(`${escape}[36mfront`)).toBe(true);
    expect(renderer?.startsWith(`${escape}[35mus-east`)).toBe(true);
    expect(plain.output('front', entry({ level: 'fatal' }))).not.toContain(escape);
  });

  test('colours are for terminals that want them', () => {
    expect(wantsColours({ isTTY: true }, {})).toBe(true);
    expect(wantsColours({ isTTY: false }, {})).toBe(false);
    expect(wantsColours({}, {})).toBe(false);
    expect(wantsColours({ isTTY: true }, { NO_COLOR: '1' })).toBe(false);
    expect(wantsColours({ isTTY: false }, { FORCE_COLOR: '1' })).toBe(true);
  });

  test("nats-server's chatter is left out, its warnings are not", () => {
    expect(natsLogEntry('[12] 2026/01/02 03:04:05.006001 [INF] Server is ready')).toBeUndefined();
    const warning = natsLogEntry('[12] 2026/01/02 03:04:05.006001 [WRN] Disk is slow') ?? '';
    expect(plain.output('nats', warning)).toBe('nats         03:04:05.006 warn  Disk is slow');
    expect(natsLogEntry('panic: something')).toBe('panic: something');
  });
});
