import { expect, test } from 'vitest';
import { messageId, nameOf, parseTask, receiverOf } from '@webcapture/shared/queue/tasks.ts';

const parse = (text: string) => parseTask(Buffer.from(text));
const named = { account: 'a', uuid: 'u' };

test.each([
  { kind: 'expiry', ...named },
  { kind: 'refresh', ...named },
  { kind: 'dispatch', ...named, revision: 0 },
  { kind: 'webhook', ...named, revision: 2, receiver: 'hooks.example' },
])('parseTask accepts %j', (task) => {
  expect(parse(JSON.stringify(task))).toEqual(task);
});

test.each(['', 'x', '7', 'null', '"expiry"', '[]', '{}', JSON.stringify({ kind: 'other', ...named })])(
  'parseTask refuses %s',
  (text) => {
    expect(() => parse(text)).toThrow(/not a task|JSON/);
  },
);

// A task with these defects would fail on every delivery.
test.each([
  ['{"kind":"expiry"}', 'no valid capture'],
  ['{"kind":"expiry","account":"a"}', 'no valid capture'],
  ['{"kind":"expiry","account":"a","uuid":7}', 'no valid capture'],
  ['{"kind":"expiry","account":7,"uuid":"u"}', 'no valid capture'],
  ['{"kind":"expiry","account":"a b","uuid":"u"}', 'no valid capture'],
  ['{"kind":"dispatch","account":"a","uuid":"u"}', 'no valid revision'],
  ['{"kind":"dispatch","account":"a","uuid":"u","revision":0.5}', 'no valid revision'],
  ['{"kind":"webhook","account":"a","uuid":"u","revision":"1"}', 'no valid revision'],
  ['{"kind":"webhook","account":"a","uuid":"u","revision":1}', 'no receiver'],
])('parseTask refuses %s: %s', (text, problem) => {
  expect(() => parse(text)).toThrow(problem);
});

test('tasks with one name replace each other: those of one capture, or of one refresh', () => {
  expect(nameOf(named)).toBe('a.u.0');
  expect(nameOf({ ...named, revision: 2 })).toBe('a.u.2');
});

test('the id of an event contains no full stop, and a receiver includes its port', () => {
  expect(messageId('01a1fd8a-28f4', 3)).toBe('msg_01a1fd8a-28f4_3');
  expect(receiverOf('https://hooks.example:8443/a?b')).toBe('hooks.example:8443');
  expect(() => receiverOf('hooks.example')).toThrow(TypeError);
});
