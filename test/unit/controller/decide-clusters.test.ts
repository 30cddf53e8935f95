import { describe, expect, test } from 'vitest';
import { decideRegion } from '../../../services/controller/health/decider.ts';
import {
  ClusterReports,
  LeastWanted,
  type ClusterReport,
  type RegionInClusters,
  type RegionPod,
} from '../../../services/controller/health/cluster-reports.ts';
import { healthy, heartbeat, region } from '../../integration/controller/support/facts.ts';

const pod = (name: string, fields: Partial<RegionPod> = {}): RegionPod => ({ name, state: 'ready', ...fields });

/** So many Ready pods, with the names of as many healthy heartbeats. */
const pods = (count: number) => Array.from({ length: count }, (_, index) => pod(`us-east-${index}`));

const clusters = (fields: Partial<RegionInClusters> = {}): RegionInClusters => ({
  wanted: 2,
  pods: pods(2),
  missing: [],
  silentForMs: null,
  ...fields,
});

const minutes = 60_000;

describe('a region as Kubernetes and its heartbeats tell it', () => {
  test.each([
    ['all well', { pods: healthy(2), clusters: clusters() }, 'operational', '2 of 2 renderers healthy'],
    [
      'a quarter may be missing',
      { pods: healthy(3), clusters: clusters({ wanted: 4, pods: pods(3) }) },
      'operational',
      '3 of 4 renderers healthy: 1 not running',
    ],
    [
      'a pod that crashes, by the reason that Kubernetes gives',
      {
        pods: healthy(1),
        clusters: clusters({ pods: [...pods(1), pod('b', { state: 'unready', why: 'CrashLoopBackOff' })] }),
      },
      'degraded_performance',
      '1 of 2 renderers healthy: b is not Ready (CrashLoopBackOff)',
    ],
    [
      'Ready, but silent from the start',
      { pods: healthy(1), clusters: clusters({ pods: [...pods(1), pod('b')] }) },
      'degraded_performance',
      '1 of 2 renderers healthy: b is Ready, but no heartbeat of it is heard',
    ],
    [
      'Ready, and fallen silent',
      { pods: healthy(1), silent: [{ pod: 'b', forMs: 7000 }], clusters: clusters({ pods: [...pods(1), pod('b')] }) },
      'degraded_performance',
      '1 of 2 renderers healthy: b has not been heard for 7 s',
    ],
    [
      'Ready, heard, without a browser',
      {
        pods: [...healthy(1), heartbeat('b', { browser: 'down' })],
        clusters: clusters({ pods: [...pods(1), pod('b')] }),
      },
      'degraded_performance',
      '1 of 2 renderers healthy: b has no working browser',
    ],
    [
      'heard, but not Ready: it is not counted',
      { pods: healthy(2), clusters: clusters({ pods: [pod('us-east-0'), pod('us-east-1', { state: 'unready' })] }) },
      'degraded_performance',
      '1 of 2 renderers healthy: us-east-1 is not Ready',
    ],
    [
      'heard, but its pod is gone',
      { pods: healthy(2), clusters: clusters({ pods: pods(1) }) },
      'degraded_performance',
      '1 of 2 renderers healthy: 1 not running, us-east-1 sends heartbeats and is no pod of the cluster',
    ],
    [
      'all that is wanted, and one that is no pod',
      { pods: healthy(3), clusters: clusters() },
      'operational',
      '2 of 2 renderers healthy: us-east-2 sends heartbeats and is no pod of the cluster',
    ],
    [
      'three that are no pods',
      { pods: healthy(5), clusters: clusters() },
      'operational',
      '2 of 2 renderers healthy: us-east-2, us-east-3, us-east-4 send heartbeats and are no pod of the cluster',
    ],
    [
      'four that are no pods, and one that leaves',
      { pods: [...healthy(6), heartbeat('old', { draining: true })], clusters: clusters() },
      'operational',
      '2 of 2 renderers healthy: us-east-2, us-east-3, us-east-4 and 1 more send heartbeats and are no pod of the cluster',
    ],
    [
      'a pod that leaves in order is no reason',
      { pods: [], clusters: clusters({ wanted: 1, pods: [pod('old', { state: 'ending' })] }) },
      'major_outage',
      '0 of 1 renderers healthy: 1 not running',
    ],
    [
      'no pod at all',
      { pods: [], clusters: clusters({ pods: [] }) },
      'major_outage',
      '0 of 2 renderers healthy: there is no pod',
    ],
    [
      'many reasons: three are named',
      {
        pods: [],
        silent: ['us-east-0', 'us-east-1', 'us-east-2', 'us-east-3'].map((name) => ({ pod: name, forMs: 6000 })),
        clusters: clusters({ wanted: 6, pods: pods(4) }),
      },
      'major_outage',
      '0 of 6 renderers healthy: us-east-0 has not been heard for 6 s, us-east-1 has not been heard for 6 s, ' +
        'us-east-2 has not been heard for 6 s, 3 more missing',
    ],
    [
      'a rolling update: the successor is Ready, the old pod drains',
      {
        pods: [...healthy(2), heartbeat('old', { draining: true })],
        clusters: clusters({ pods: [...pods(2), pod('old', { state: 'ending' })] }),
      },
      'operational',
      '2 of 2 renderers healthy',
    ],
    [
      'scaled to zero on purpose, whatever the configuration says',
      { wanted: 1, pods: [], clusters: clusters({ wanted: 0, pods: [] }) },
      'operational',
      'scaled to zero',
    ],
    [
      'coming up from zero',
      { pods: healthy(1), clusters: clusters({ wanted: 0, pods: pods(1) }) },
      'operational',
      '1 renderers healthy, scaled to zero within the last minutes',
    ],
    [
      'pods that Kubernetes refuses to create',
      { pods: healthy(1), clusters: clusters({ wanted: 2, pods: pods(1), refused: ['exceeded quota: small'] }) },
      'degraded_performance',
      '1 of 2 renderers healthy: 1 not running; Kubernetes refuses to create pods: exceeded quota: small',
    ],
    [
      'a Deployment that is not there: as many as configured are wanted',
      { wanted: 1, pods: [], clusters: clusters({ wanted: null, pods: [], missing: ['r-us-east'] }) },
      'major_outage',
      '0 of 1 renderers healthy: none is running; the Deployment r-us-east is not there',
    ],
    [
      'Kubernetes is away: what was wanted stays wanted, and heartbeats count',
      { pods: healthy(2), clusters: clusters({ pods: [], silentForMs: 20_000 }) },
      'operational',
      '2 of 2 renderers healthy; Kubernetes has not been heard for 20 s, so heartbeats alone are counted',
    ],
    [
      'Kubernetes is away, and a renderer dies',
      { pods: healthy(1), silent: [{ pod: 'b', forMs: 9000 }], clusters: clusters({ pods: [], silentForMs: 20_000 }) },
      'degraded_performance',
      '1 of 2 renderers healthy: b has not been heard for 9 s; ' +
        'Kubernetes has not been heard for 20 s, so heartbeats alone are counted',
    ],
    [
      'Kubernetes is away, and a renderer that it does not list has no browser',
      {
        pods: [...healthy(1), heartbeat('b', { browser: 'down' })],
        clusters: clusters({ pods: pods(1), silentForMs: 20_000 }),
      },
      'degraded_performance',
      '1 of 2 renderers healthy: b has no working browser; ' +
        'Kubernetes has not been heard for 20 s, so heartbeats alone are counted',
    ],
    [
      'Kubernetes is away, and a renderer that it lists has no browser, which is told once',
      {
        pods: [...healthy(1), heartbeat('b', { browser: 'down' })],
        clusters: clusters({ wanted: 3, pods: [...pods(1), pod('b')], silentForMs: 20_000 }),
      },
      'partial_outage',
      '1 of 3 renderers healthy: b has no working browser, 1 more missing; ' +
        'Kubernetes has not been heard for 20 s, so heartbeats alone are counted',
    ],
    [
      'Kubernetes is away for long: the configuration says what is wanted',
      { wanted: 1, pods: healthy(1), clusters: clusters({ wanted: null, pods: [], silentForMs: 7 * minutes }) },
      'operational',
      '1 of 1 renderers healthy; Kubernetes has not been heard for 7 min, so heartbeats alone are counted',
    ],
    [
      'one of two clusters is away: its renderers count by their heartbeats',
      { pods: healthy(3), clusters: clusters({ wanted: 4, pods: pods(2), silentForMs: 8000 }) },
      'operational',
      '3 of 4 renderers healthy: 1 not running; ' +
        'Kubernetes has not been heard for 8 s, so heartbeats alone are counted',
    ],
  ] as const)('%s', (_, fields, status, message) => {
    expect(decideRegion(region(fields))).toEqual({ status, message });
  });

  test('nothing is said of what is missing while heartbeats cannot be heard', () => {
    expect(decideRegion(region({ fleetKnown: false, pods: [], clusters: clusters() }))).toBeNull();
  });
});

describe('the least that was asked for in five minutes', () => {
  const at = (steps: readonly (readonly [minute: number, replicas: number])[]) => {
    let now = 0;
    const least = new LeastWanted(() => now);
    return steps.map(([minute, replicas]) => {
      now = minute * minutes;
      return least.note('us-east', replicas);
    });
  };
  test.each([
    [[[0, 3]], [3]],
    // Scaling up counts when five minutes are over, scaling down at once.
    [
      [
        [0, 2],
        [1, 10],
        [5.9, 10],
        [6.1, 10],
      ],
      [2, 2, 2, 10],
    ],
    [
      [
        [0, 10],
        [1, 4],
        [2, 4],
      ],
      [10, 4, 4],
    ],
    // A dip is the least until it has left the window.
    [
      [
        [0, 5],
        [1, 2],
        [2, 5],
        [6.9, 5],
        [7.1, 5],
      ],
      [5, 2, 2, 2, 5],
    ],
    [
      [
        [0, 0],
        [4, 1],
        [8, 1],
        [9.1, 1],
      ],
      [0, 0, 0, 1],
    ],
    // What was asked for before the window began, and still then, counts.
    [
      [
        [0, 3],
        [60, 9],
        [64.9, 9],
        [65.1, 9],
      ],
      [3, 3, 3, 9],
    ],
  ] as const)('%j', (steps, least) => {
    expect(at(steps)).toEqual(least);
  });

  test('a controller that starts goes on from what the last one found', () => {
    let now = 0;
    const least = new LeastWanted(() => now);
    least.remember('us-east', 2, minutes);
    expect(least.note('us-east', 8)).toBe(2);
    now = 4.9 * minutes;
    expect(least.note('us-east', 8)).toBe(2);
    now = 5.1 * minutes;
    expect(least.note('us-east', 8)).toBe(8);
    least.remember('us-east', 1, 0);
    least.remember('eu-west', 1, 6 * minutes);
    expect([least.note('us-east', 8), least.note('eu-west', 3)]).toEqual([8, 3]);
  });
});

describe('the reports of the clusters of a fleet', () => {
  const report = (at: number, wanted: number | null, names: readonly string[]): ClusterReport => ({
    namespace: 'n',
    at,
    regions: { 'us-east': { wanted, pods: names.map((name) => pod(name)), missing: [] } },
  });
  const reported = (clusters: ClusterReports) => {
    const found = clusters.of('us-east');
    return found === null ? null : [found.wanted, found.pods.map(({ name }) => name), found.silentForMs];
  };

  test('is added up; one that falls silent is known for five minutes, remembered for fifteen, and told all the time', () => {
    let now = 0;
    const clusters = new ClusterReports(false, () => now);
    expect(reported(clusters)).toBeNull();
    clusters.receive('cluster.a', report(1, 2, ['a1', 'a2']));
    clusters.receive('cluster.b', report(1, 3, ['b1']));
    expect(clusters.of('eu-west')).toBeNull();
    expect(reported(clusters)).toEqual([5, ['a1', 'a2', 'b1'], null]);
    now = 5000;
    clusters.receive('cluster.a', report(2, 2, ['a1']));
    expect(reported(clusters)).toEqual([5, ['a1', 'b1'], null]);
    now = 6000;
    expect(reported(clusters)).toEqual([5, ['a1'], 6000]);
    // Neither its expiry nor the same word once more is news.
    clusters.receive('cluster.b', null);
    clusters.receive('cluster.b', report(1, 3, ['b1']));
    expect(reported(clusters)).toEqual([5, ['a1'], 6000]);
    now = 6 * minutes;
    clusters.receive('cluster.a', report(3, 2, ['a1']));
    expect(reported(clusters)).toEqual([2, ['a1'], 6 * minutes]);
    now = 7 * minutes;
    expect(reported(clusters)).toEqual([2, [], 7 * minutes]);
    now = 16 * minutes;
    expect(reported(clusters)).toEqual([null, [], 10 * minutes]);
    now = 22 * minutes;
    expect(reported(clusters)).toBeNull();
  });

  test('a controller that has a cluster says so when none has ever spoken', () => {
    let now = 0;
    const clusters = new ClusterReports(true, () => now);
    now = 14_999;
    expect(reported(clusters)).toBeNull();
    now = 15_000;
    expect(reported(clusters)).toEqual([null, [], 15_000]);
    expect(decideRegion(region({ clusters: clusters.of('us-east') }))).toEqual({
      status: 'operational',
      message: '1 of 1 renderers healthy; Kubernetes has not been heard for 15 s, so heartbeats alone are counted',
    });
    clusters.receive('cluster.a', { ...report(1, 2, []), regions: {} });
    expect(reported(clusters)).toBeNull();
  });
});
