import { expect, test } from 'vitest';
import type { StatusValue } from '@webcapture/shared/api/status.ts';
import { damp, type Damped } from '../../../services/controller/health/verdict.ts';
import { Decider } from '../../../services/controller/health/decider.ts';
import type { Facts } from '../../../services/controller/health/facts.ts';
import { answered, healthy, idle, region } from '../../integration/controller/support/facts.ts';

const letters: Record<string, StatusValue> = {
  o: 'operational',
  d: 'degraded_performance',
  p: 'partial_outage',
  m: 'major_outage',
};

/** Readings and what shows after each, one letter a tick. */
function shown(readings: string): string {
  let damped: Damped | null = null;
  let out = '';
  for (const letter of readings) {
    damped = damp(damped, { status: letters[letter] ?? 'operational', message: letter });
    out += damped.shown.status.charAt(0);
  }
  return out;
}

test('no more readings are kept than one can depend on', () => {
  const verdict = { status: 'operational', message: '' } as const;
  let damped = damp(null, verdict);
  for (let reading = 0; reading < 10; reading += 1) damped = damp(damped, verdict);
  expect(damped.readings).toHaveLength(3);
});

test.each([
  ['the first reading shows at once', 'm', 'm'],
  ['one bad reading alone changes nothing', 'oomoo', 'ooooo'],
  ['a worse state shows after two', 'ooppp', 'ooopp'],
  ['also when it gets worse by steps', 'odpm', 'oodp'],
  ['and then in full', 'odpmm', 'oodpm'],
  ['swinging between two bad states shows the milder', 'oomdmd', 'oooddd'],
  ['flapping between good and bad shows good', 'ombomomo', 'oooooooo'],
  ['a better state shows after three', 'mmooo', 'mmmmo'],
  ['two good readings are not enough', 'mmoomoo', 'mmmmmmm'],
  ['it gets as good as the worst of three', 'mmodo', 'mmmmd'],
  ['and then in full', 'mmodooo', 'mmmmddo'],
])('%s', (_, readings, expected) => {
  expect(shown(readings)).toBe(expected);
});

test('a state that stays shows its latest reason', () => {
  const first = damp(null, { status: 'operational', message: '2 of 2', responseTimeMs: 100 });
  const second = damp(first, { status: 'operational', message: '3 of 3', responseTimeMs: 90 });
  expect(second.shown).toEqual({ status: 'operational', message: '3 of 3', responseTimeMs: 90 });
  const third = damp(second, { status: 'major_outage', message: 'gone' });
  expect(third.shown.message).toBe('3 of 3');
});

const facts = (at: number, fields: Partial<Facts> = {}): Facts => ({
  at,
  queue: answered(),
  storage: { kind: 'works', at: 500, ms: 3.4 },
  regions: [region(), region({ region: 'eu-west' })],
  clusters: [],
  ...fields,
});

test('a report holds every component with the time of its reading', () => {
  const waiting = { ...idle, interactive: 2, background: 3 };
  const decider = new Decider();
  expect(decider.next(facts(1000, { regions: [region({ waiting }), region({ region: 'eu-west' })] }))).toEqual({
    clusters: [],
    pending: [],
    components: [
      expect.objectContaining({ name: 'queue', responseTimeMs: 2, lastCheckedAt: '1970-01-01T00:00:01.000Z' }),
      expect.objectContaining({ name: 'storage', responseTimeMs: 3, lastCheckedAt: '1970-01-01T00:00:00.500Z' }),
      expect.objectContaining({ name: 'engine', status: 'operational', lastCheckedAt: '1970-01-01T00:00:01.000Z' }),
      expect.objectContaining({ name: 'engine.us-east', status: 'operational' }),
      expect.objectContaining({ name: 'engine.eu-west', status: 'operational' }),
    ],
    queued: { 'us-east': 5, 'eu-west': 0 },
    overall: 'operational',
    at: 1000,
  });
});

test('there is no report before everything was read once', () => {
  expect(new Decider().next(facts(0, { storage: null }))).toBeNull();
  const decider = new Decider();
  expect(decider.next(facts(1, { regions: [region({ fleetKnown: false, pods: [] })] }))).toBeNull();
  expect(decider.next(facts(2))).not.toBeNull();
});

test('the engine follows its damped regions at once, and the overall state is the worst component', () => {
  const decider = new Decider();
  const down = region({ region: 'eu-west', pods: [] });
  decider.next(facts(0));
  const states = [1, 2].map((at) => {
    const report = decider.next(facts(at, { regions: [region({ wanted: 2, pods: healthy(2) }), down] }));
    return [report?.overall, report?.components.find(({ name }) => name === 'engine')?.status];
  });
  expect(states).toEqual([
    ['operational', 'operational'],
    ['major_outage', 'partial_outage'],
  ]);
});

test('the engine names the problems of clusters once each, three at the most', () => {
  const cluster = (problem: string) =>
    ({ name: 'c', namespace: 'n', version: '0.2.0', regions: [], silentForMs: null, problems: [problem] }) as const;
  const engine = (problems: readonly string[]) =>
    new Decider().next(facts(0, { clusters: problems.map(cluster) }))?.components.find(({ name }) => name === 'engine')
      ?.message;
  expect(engine([])).toBe('2 of 2 regions operational');
  expect(engine(['a', 'b', 'a'])).toBe('2 of 2 regions operational; a; b');
  expect(engine(['a', 'b', 'c', 'd'])).toBe('2 of 2 regions operational; a; b; c');
});

test('where nothing was measured no time is told, and what waits is not counted where it is not known', () => {
  const unreachable = { kind: 'unreachable', why: 'no answer' } as const;
  const report = new Decider().next(facts(0, { queue: unreachable, regions: [region({ waiting: null })] }));
  expect(report?.components[0]).not.toHaveProperty('responseTimeMs');
  expect(report?.queued).toEqual({ 'us-east': 0 });
});

test('what is not known for a while keeps its last state and the time of it', () => {
  const decider = new Decider();
  decider.next(facts(1000));
  const unknown = { fleetKnown: false, pods: [] };
  const report = decider.next(facts(9000, { regions: [region(unknown), region({ region: 'eu-west', ...unknown })] }));
  expect(report?.components.at(-1)).toMatchObject({
    status: 'operational',
    lastCheckedAt: '1970-01-01T00:00:01.000Z',
  });
});
