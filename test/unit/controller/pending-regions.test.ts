import { describe, expect, test } from 'vitest';
import { Decider, hasJoined } from '../../../services/controller/health/decider.ts';
import type { RegionFacts } from '../../../services/controller/health/facts.ts';
import { answered, healthy, heartbeat, region } from '../../integration/controller/support/facts.ts';

describe('a region that is not installed yet', () => {
  const asia = (fields: Partial<RegionFacts> = {}) =>
    region({ region: 'asia-east', isPending: true, pods: [], ...fields });
  const next = (...regions: readonly RegionFacts[]) =>
    new Decider().next({ at: 0, queue: answered(), storage: { kind: 'works', at: 0, ms: 1 }, clusters: [], regions });

  test('does not affect the overall status, and is named by the engine', () => {
    const report = next(region(), asia());
    expect(report?.overall).toBe('operational');
    expect(report?.components.map(({ name, message }) => [name, message]).slice(2)).toEqual([
      ['engine', '1 of 1 regions operational; asia-east is not installed yet'],
      ['engine.us-east', '1 of 1 renderers healthy'],
    ]);
    expect(report?.pending).toMatchObject([
      { name: 'engine.asia-east', message: 'not installed yet: 0 of 1 renderers healthy: none is running' },
    ]);
  });

  test('is an outage if it is the only region', () => {
    const report = next(asia());
    expect(report?.overall).toBe('major_outage');
    expect(report?.components.find(({ name }) => name === 'engine')?.message).toBe(
      'no region is installed yet; asia-east is not installed yet',
    );
  });

  test('does not delay the status while its renderers are unknown', () => {
    expect(next(region(), asia({ fleetKnown: false }))?.overall).toBe('operational');
  });

  const reported = {
    wanted: 0,
    asked: 0,
    pods: [],
    missing: [],
    silentForMs: null,
    silentClusters: [],
    silentPods: [],
    conflicts: [],
  };
  test.each<[string, Partial<RegionFacts>, boolean]>([
    ['no renderer', {}, false],
    ['a renderer without a browser', { pods: [heartbeat('asia-1', { browser: 'down' })] }, false],
    ['a healthy renderer', { pods: healthy(1) }, true],
    ['a healthy renderer, but has joined before', { pods: healthy(1), isPending: false }, false],
    ['no cluster that reports it, and may scale to zero', { wanted: 0 }, false],
    ['a cluster that reports it, and may scale to zero', { wanted: 0, clusters: reported }, true],
  ])('decides whether a region with %s has joined', (_, fields, joins) => {
    const found = asia(fields);
    const report = next(region(), found);
    expect(report !== null && hasJoined(found, report)).toBe(joins);
  });
});
