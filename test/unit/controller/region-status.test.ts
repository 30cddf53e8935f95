import { describe, expect, test } from 'vitest';
import type { ComponentStatus } from '@webcapture/shared/api/status.ts';
import { answerScale } from '../../../services/controller/health/scale.ts';
import { type FleetProblem, LatestReading, type RegionFacts } from '../../../services/controller/health/facts.ts';
import { DeletionCosts } from '../../../services/controller/kubernetes/deletion-costs.ts';
import { isWorthWriting, reasonOf, regionStatus } from '../../../services/controller/kubernetes/region-status.ts';
import type { RenderRegion, RenderRegionStatus } from '../../../services/controller/kubernetes/objects.ts';
import { answered, healthy, heartbeat, idle, region } from '../../integration/controller/support/facts.ts';

const start = Date.parse('2026-01-01T00:00:00Z');

const component = (fields: Partial<ComponentStatus> = {}): ComponentStatus => ({
  name: 'engine.us-east',
  status: 'operational',
  message: '2 of 2 renderers healthy',
  responseTimeMs: 120,
  lastCheckedAt: '',
  ...fields,
});

const resource = (status?: RenderRegionStatus): RenderRegion => ({
  metadata: { name: 'us-east', namespace: 'n', uid: 'u', resourceVersion: '1', generation: 3 },
  spec: { region: 'us-east', deployment: 'r-us-east' },
  ...(status === undefined ? {} : { status }),
});

const clusters = {
  wanted: 2,
  asked: 2,
  pods: [],
  missing: [],
  silentForMs: null,
  silentClusters: [],
  silentPods: [],
  conflicts: [],
};
const facts = region({ pods: healthy(2, { busy: 1 }), clusters: { ...clusters, pods: [] } });

const statusAt = (
  ms: number,
  before?: RenderRegionStatus,
  fields: {
    component?: Partial<ComponentStatus>;
    facts?: Partial<RegionFacts>;
    problem?: FleetProblem;
    queued?: number;
  } = {},
) =>
  regionStatus({
    resource: resource(before),
    component: component(fields.component),
    facts: { ...facts, ...fields.facts },
    problem: fields.problem,
    queued: fields.queued ?? 0,
    now: start + ms,
  });

describe('the status of a RenderRegion', () => {
  test('has the status and message of /status, and the numbers behind them', () => {
    const pods = healthy(2).map(({ pod }) => ({ name: pod, state: 'ready' as const }));
    expect(statusAt(0, undefined, { facts: { clusters: { ...clusters, pods } }, queued: 4 })).toEqual({
      status: 'operational',
      message: '2 of 2 renderers healthy',
      observedGeneration: 3,
      ready: 2,
      wanted: 2,
      expected: 2,
      slots: 4,
      busy: 2,
      queued: 4,
      responseTimeMs: 120,
      lastCheckedAt: '2026-01-01T00:00:00Z',
      conditions: [
        {
          type: 'Operational',
          status: 'True',
          reason: 'Operational',
          message: '2 of 2 renderers healthy',
          lastTransitionTime: '2026-01-01T00:00:00Z',
          observedGeneration: 3,
        },
        {
          type: 'DeploymentFound',
          status: 'True',
          reason: 'Found',
          message: 'the Deployment r-us-east makes its renderers',
          lastTransitionTime: '2026-01-01T00:00:00Z',
          observedGeneration: 3,
        },
        {
          type: 'Ready',
          status: 'True',
          reason: 'Operational',
          message: '2 of 2 renderers healthy',
          lastTransitionTime: '2026-01-01T00:00:00Z',
          observedGeneration: 3,
        },
      ],
    });
  });

  test('a condition keeps its transition time until its status flips, also when its reason changes', () => {
    const times = (status: RenderRegionStatus) =>
      status.conditions
        .filter(({ type }) => type !== 'Ready')
        .map(({ reason, lastTransitionTime }) => `${reason} ${lastTransitionTime.slice(17, 19)}`);
    const first = statusAt(0);
    const second = statusAt(10_000, first, { component: { status: 'degraded_performance' } });
    const third = statusAt(20_000, second, { component: { status: 'major_outage' } });
    const missing = { ...clusters, missing: ['r-us-east'] };
    const fourth = statusAt(30_000, third, { facts: { clusters: missing } });
    expect([first, second, third, fourth].map(times)).toEqual([
      ['Operational 00', 'Found 00'],
      ['DegradedPerformance 10', 'Found 00'],
      ['MajorOutage 10', 'Found 00'],
      ['Operational 30', 'NotFound 30'],
    ]);
  });

  test('is Ready while captures are rendered, and otherwise has a reason', () => {
    const ready = (status: ComponentStatus['status'], more: object = {}) => {
      const shown = statusAt(0, undefined, { component: { status }, facts: { clusters: { ...clusters, ...more } } });
      const { status: is, reason } = shown.conditions.find(({ type }) => type === 'Ready') ?? {};
      return [is, reason];
    };
    expect(ready('operational')).toEqual(['True', 'Operational']);
    expect(ready('degraded_performance')).toEqual(['True', 'DegradedPerformance']);
    expect(ready('partial_outage')).toEqual(['False', 'PartialOutage']);
    expect(ready('major_outage', { missing: ['r-us-east'] })).toEqual(['False', 'DeploymentNotFound']);
    expect(ready('major_outage', { refused: ['exceeded quota'] })).toEqual(['False', 'PodsRefused']);
  });

  test('shows the replicas that are wanted now, and the lowest number of the last minutes', () => {
    const { wanted, expected } = statusAt(0, undefined, { facts: { clusters: { ...clusters, asked: 8 } } });
    expect([wanted, expected]).toEqual([8, 2]);
  });

  test.each([
    ['there is no status yet', 0, null, true],
    ['nothing changed', 9000, {}, false],
    ['nothing changed for a minute', 60_000, {}, true],
    ['the clock was set back by an hour', -3_600_000, {}, true],
    ['the status changed', 500, { component: { status: 'major_outage' } }, true],
    ['the number of healthy renderers changed', 500, { facts: { pods: healthy(1) } }, true],
    [
      'the number of wanted renderers changed',
      500,
      { facts: { clusters: { ...clusters, wanted: 3, asked: 3 } } },
      true,
    ],
    ['the number of busy slots changed within 10 s', 9999, { facts: { pods: healthy(2, { busy: 0 }) } }, false],
    ['the number of busy slots changed after 10 s', 10_000, { facts: { pods: healthy(2, { busy: 0 }) } }, true],
    ['the number of queued captures changed after 10 s', 10_000, { queued: 1 }, true],
    ['the message changed within 10 s', 2000, { component: { message: 'b has not been heard for 8 s' } }, false],
    ['the message changed after 10 s', 11_000, { component: { message: 'b has not been heard for 8 s' } }, true],
  ] as const)('decides whether to write it when %s', (_, ms, fields, expected) => {
    const loose = { ...facts, clusters: { ...clusters, silentForMs: 1 } };
    const before = fields === null ? undefined : statusAt(0, undefined, { facts: loose });
    const next = statusAt(ms, before, {
      ...fields,
      facts: { ...loose, ...(fields !== null && 'facts' in fields ? keepSilent(fields.facts) : {}) },
    });
    expect(isWorthWriting(before, next, start + ms)).toBe(expected);
  });

  test('long messages are truncated, and unknown fields are omitted', () => {
    const status = regionStatus({
      resource: {
        metadata: { name: 'us-east', namespace: 'n', uid: 'u', resourceVersion: '1' },
        spec: resource().spec,
      },
      component: { name: 'engine.us-east', status: 'operational', message: 'x'.repeat(2000), lastCheckedAt: '' },
      facts: { ...facts, clusters: null },
      queued: 0,
      now: start + 7,
    });
    expect(status).not.toHaveProperty('responseTimeMs');
    expect(status).not.toHaveProperty('observedGeneration');
    expect(status).toMatchObject({ ready: 2, wanted: 1, expected: 1, lastCheckedAt: '2026-01-01T00:00:00Z' });
    expect([status.message, ...status.conditions.map(({ message }) => message)].map(({ length }) => length)).toEqual([
      1024, 1024, 44, 1024,
    ]);
    for (const each of status.conditions) expect(each).not.toHaveProperty('observedGeneration');
  });

  test('a satellite without a connection to its fleet is not Ready, with the reason, whatever its last status was', () => {
    const problem = { reason: 'FleetUnreachable', message: 'the hub is silent' } as const;
    const { conditions } = statusAt(0, undefined, { problem });
    expect(conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual([
      'Operational True FleetUnreachable',
      'DeploymentFound True Found',
      'Ready False FleetUnreachable',
    ]);
  });

  test('a missing Deployment is named', () => {
    const missing = { ...clusters, missing: ['r-us-east'] };
    expect(statusAt(0, undefined, { facts: { clusters: missing } }).conditions[1]).toMatchObject({
      type: 'DeploymentFound',
      status: 'False',
      reason: 'NotFound',
      message: 'the Deployment r-us-east does not exist',
    });
  });

  test.each([
    ['a condition has another reason', (each: { reason: string }) => ({ ...each, reason: 'Other' }), 500, true],
    ['a condition flipped', (each: object) => ({ ...each, status: 'False' }), 500, true],
    ['a condition is of another generation', (each: object) => ({ ...each, observedGeneration: 4 }), 500, true],
    ['the message of a condition differs, within 10 s', (each: object) => ({ ...each, message: 'other' }), 500, false],
    ['the message of a condition differs, after 10 s', (each: object) => ({ ...each, message: 'other' }), 10_000, true],
    [
      'only the transition time of a condition differs',
      (each: object) => ({ ...each, lastTransitionTime: '' }),
      10_000,
      false,
    ],
  ] as const)('decides whether to write it when %s', (_, change, ms, expected) => {
    const before = statusAt(0);
    const next = { ...before, conditions: before.conditions.map((each) => change(each) as typeof each) };
    expect(isWorthWriting(before, next, start + ms)).toBe(expected);
  });

  test('is written when it was never checked, and 10 s after its response time changed', () => {
    const before = statusAt(0);
    const { lastCheckedAt: _never, ...unchecked } = before;
    expect(isWorthWriting(unchecked, before, start)).toBe(true);
    expect(isWorthWriting(before, { ...before, responseTimeMs: 121 }, start + 9999)).toBe(false);
    expect(isWorthWriting(before, { ...before, responseTimeMs: 121 }, start + 10_000)).toBe(true);
  });

  test('reasons are in CamelCase, as in the Kubernetes API', () => {
    expect(
      ['operational', 'degraded_performance', 'partial_outage', 'major_outage'].map((status) =>
        reasonOf(status as never),
      ),
    ).toEqual(['Operational', 'DegradedPerformance', 'PartialOutage', 'MajorOutage']);
  });
});

/** Makes the clusters silent, so that only heartbeats count and no list of pods is necessary. */
function keepSilent(fields: Partial<RegionFacts>): Partial<RegionFacts> {
  return fields.clusters ? { ...fields, clusters: { ...fields.clusters, silentForMs: 1 } } : fields;
}

describe('deletion costs', () => {
  const pod = (name: string, deletionCost: number | null = null) => ({ name, deletionCost });
  const busy = (name: string, count: number) => heartbeat(name, { busy: count });

  test('idle pods have the lowest cost, and an unchanged cost is not patched again', () => {
    const costs = new DeletionCosts(() => 0);
    const pods = [pod('full'), pod('half'), pod('idle'), pod('told', 100)];
    const beats = [busy('full', 2), busy('half', 1), busy('idle', 0), busy('told', 2)];
    expect(costs.changes(pods, beats)).toEqual([
      { name: 'half', cost: 50 },
      { name: 'full', cost: 100 },
    ]);
    // The change is repeated until the watch shows the patch.
    expect(costs.changes(pods, beats)).toHaveLength(2);
    expect(costs.changes([pod('full', 100), pod('half', 50), pod('idle')], beats)).toEqual([]);
  });

  test('a cost rises at once and falls when the pod has been idle for 20 s', () => {
    let now = 0;
    const costs = new DeletionCosts(() => now);
    const at = (ms: number, carried: number, count: number) => {
      now = ms;
      return costs.changes([pod('a', carried)], [busy('a', count)])[0]?.cost ?? null;
    };
    expect(at(0, 0, 0)).toBeNull();
    expect(at(1000, 0, 1)).toBe(50);
    expect(at(2000, 50, 0)).toBeNull();
    expect(at(15_000, 50, 1)).toBeNull();
    expect(at(34_999, 50, 0)).toBeNull();
    expect(at(35_000, 50, 0)).toBe(0);
  });

  test('a pod without a browser counts as silent, and a removed pod is forgotten', () => {
    let now = 0;
    const costs = new DeletionCosts(() => now);
    const down = [heartbeat('a', { browser: 'down' })];
    expect(costs.changes([pod('a', 0)], down)).toEqual([]);
    now = 15_000;
    expect(costs.changes([pod('a', 0)], down)).toEqual([{ name: 'a', cost: -10 }]);
    costs.changes([], []);
    // A new pod with the same name may be starting.
    expect(costs.changes([pod('a', 0)], down)).toEqual([]);
  });

  test('a silent pod costs less than idle ones, after the 15 s in which it may be starting', () => {
    let now = 0;
    const costs = new DeletionCosts(() => now);
    const at = (ms: number, heard: boolean, carried = 0) => {
      now = ms;
      return costs.changes([pod('a', carried)], heard ? [busy('a', 0)] : [])[0]?.cost ?? null;
    };
    expect(at(0, false)).toBeNull();
    expect(at(14_999, false)).toBeNull();
    expect(at(15_000, false)).toBe(-10);
    expect(at(16_000, true, -10)).toBe(0);
  });
});

describe('the scale endpoint', () => {
  const latest = (fields: Partial<RegionFacts>) => {
    const reading = new LatestReading();
    const read = { at: 0, queue: answered(), storage: null, clusters: [], regions: [region(fields)] };
    reading.set({ facts: read, report: null });
    return reading;
  };
  const waiting = (interactive: number, background = 0) => ({ ...idle, interactive, background });

  test.each([
    ['idle', { pods: healthy(2) }, 0],
    ['half full', { pods: healthy(2, { busy: 1 }) }, 0.5],
    ['full', { pods: healthy(2, { busy: 2 }) }, 1],
    ['full, with captures waiting', { pods: healthy(2, { busy: 2 }), waiting: waiting(3, 1) }, 2],
    ['no slots and no captures waiting', { pods: [] }, 0],
    ['no slots and captures waiting', { pods: [], waiting: waiting(3) }, 3],
    ['a draining renderer has no slots', { pods: [...healthy(1), heartbeat('b', { draining: true, busy: 2 })] }, 0],
  ] as const)('returns the load: %s', (_, fields, value) => {
    expect(answerScale('/scale/us-east', latest(fields))).toEqual({ status: 200, body: { value } });
  });

  test('only slots that hold background captures count against the background slots', () => {
    const load = (backgroundHeld: number) =>
      answerScale(
        '/scale/us-east',
        latest({ pods: healthy(2, { busy: 2 }), waiting: { ...idle, backgroundHeld }, backgroundSlots: 1 }),
      )?.body;
    // Four captures run in four slots: a renderer that has died may still hold some of the background slots.
    expect([load(0), load(1), load(2), load(9)]).toEqual([
      { value: 1 },
      { value: 1 },
      { value: 0.75 },
      { value: 0.25 },
    ]);
  });

  test('background captures scale a region to their granted renderers and no further', () => {
    // Simulates an autoscaler until it is stable: 1,000 captures wait, renderers have two slots, the target is 75%.
    const settle = (interactive: number, backgroundSlots: number | undefined) => {
      let renderers = 1;
      for (let step = 0; step < 20; step++) {
        const depths = { ...waiting(interactive, 1000), backgroundHeld: renderers * 2 };
        const pods = healthy(renderers, { busy: 2 });
        const answer = answerScale('/scale/us-east', latest({ pods, waiting: depths, backgroundSlots }));
        const { value } = (answer as { body: { value: number } }).body;
        renderers = Math.min(40, Math.max(1, Math.ceil(renderers * (value / 0.75))));
      }
      return renderers;
    };
    expect([1, 2, 5].map((granted) => settle(0, granted * 2 * 0.75))).toEqual([1, 2, 5]);
    expect(settle(0, undefined)).toBe(40);
    // Background captures do not limit the renderers for interactive ones.
    expect(settle(9, 2 * 2 * 0.75)).toBe(8);
  });

  test('returns 404 for an unknown region and 503 while the load is unknown', () => {
    expect(answerScale('/scale/eu-west', latest({}))).toEqual({
      status: 404,
      body: { message: 'no region eu-west is installed; there are: us-east' },
    });
    for (const unknown of [{ waiting: null }, { fleetKnown: false, pods: [] }]) {
      expect(answerScale('/scale/us-east', latest(unknown))).toEqual({
        status: 503,
        body: { message: 'the load of us-east is currently unknown' },
      });
    }
    expect(answerScale('/scale/us-east', new LatestReading())).toEqual({
      status: 503,
      body: { message: 'the load is currently unknown' },
    });
    for (const path of ['/metrics', '/a/scale/us-east', '/scale/us-east/b']) {
      expect(answerScale(path, latest({}))).toBeNull();
    }
    const both = new LatestReading();
    const regions = [region(), region({ region: 'eu-west' })];
    both.set({ facts: { at: 0, queue: answered(), storage: null, clusters: [], regions }, report: null });
    expect(answerScale('/scale/mars', both)?.body).toEqual({
      message: 'no region mars is installed; there are: us-east, eu-west',
    });
  });
});
