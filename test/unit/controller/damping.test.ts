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

/** Returns the status that is shown after each reading. Readings and statuses are written as one letter for each tick. */
function shown(readings: string): string {
  let damped: Damped | null = null;
  let out = '';
  for (const letter of readings) {
    damped = damp(damped, { status: letters[letter] ?? 'operational', message: letter });
    out += damped.shown.status.charAt(0);
  }
  return out;
}

test('keeps at most the three readings that it depends on', () => {
  const verdict = { status: 'operational', message: '' } as const;
  let damped = damp(null, verdict);
  for (let reading = 0; reading < 10; reading += 1) damped = damp(damped, verdict);
  expect(damped.readings).toHaveLength(3);
});

test.each([
  ['shows the first reading at once', 'm', 'm'],
  ['ignores a single bad reading', 'oomoo', 'ooooo'],
  ['shows a worse state after two readings', 'ooppp', 'ooopp'],
  ['shows a state that gets worse in steps after two readings', 'odpm', 'oodp'],
  ['shows the worst state after its second reading', 'odpmm', 'oodpm'],
  ['shows the milder of two alternating bad states', 'oomdmd', 'oooddd'],
  ['shows good when good and bad readings alternate', 'ombomomo', 'oooooooo'],
  ['shows a better state after three readings', 'mmooo', 'mmmmo'],
  ['does not show a better state after two good readings', 'mmoomoo', 'mmmmmmm'],
  ['shows the worst of the last three readings when a state improves', 'mmodo', 'mmmmd'],
  ['shows the best state after three readings of it', 'mmodooo', 'mmmmddo'],
])('damping %s', (_, readings, expected) => {
  expect(shown(readings)).toBe(expected);
});

test('a state that lasts shows its latest message', () => {
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

test('a report contains every component with the time of its reading', () => {
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

test('there is no report until every component has been read once', () => {
  expect(new Decider().next(facts(0, { storage: null }))).toBeNull();
  const decider = new Decider();
  expect(decider.next(facts(1, { regions: [region({ fleetKnown: false, pods: [] })] }))).toBeNull();
  expect(decider.next(facts(2))).not.toBeNull();
});

test('the engine follows its damped regions without a delay, and the overall status is that of the worst component', () => {
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

test('the engine names the problems of clusters once each, at most three', () => {
  const cluster = (problem: string) =>
    ({ name: 'c', namespace: 'n', version: '0.2.0', regions: [], silentForMs: null, problems: [problem] }) as const;
  const engine = (problems: readonly string[]) =>
    new Decider().next(facts(0, { clusters: problems.map(cluster) }))?.components.find(({ name }) => name === 'engine')
      ?.message;
  expect(engine([])).toBe('2 of 2 regions operational');
  expect(engine(['a', 'b', 'a'])).toBe('2 of 2 regions operational; a; b');
  expect(engine(['a', 'b', 'c', 'd'])).toBe('2 of 2 regions operational; a; b; c');
});

test('a reading without a measurement has no response time, and an unknown queue counts as empty', () => {
  const unreachable = { kind: 'unreachable', why: 'no answer' } as const;
  const report = new Decider().next(facts(0, { queue: unreachable, regions: [region({ waiting: null })] }));
  expect(report?.components[0]).not.toHaveProperty('responseTimeMs');
  expect(report?.queued).toEqual({ 'us-east': 0 });
});

test('a component that is unknown for a while keeps its last status and the time of that reading', () => {
  const decider = new Decider();
  decider.next(facts(1000));
  const unknown = { fleetKnown: false, pods: [] };
  const report = decider.next(facts(9000, { regions: [region(unknown), region({ region: 'eu-west', ...unknown })] }));
  expect(report?.components.at(-1)).toMatchObject({
    status: 'operational',
    lastCheckedAt: '1970-01-01T00:00:01.000Z',
  });
});
