import { describe, expect, test } from 'vitest';
import { decideRegion } from '../../../services/controller/health/decider.ts';
import {
  LeastWanted,
  type RegionInClusters,
  type RegionPod,
} from '../../../services/controller/health/cluster-reports.ts';
import { healthy, heartbeat, region } from '../../integration/controller/support/facts.ts';

const pod = (name: string, fields: Partial<RegionPod> = {}): RegionPod => ({ name, state: 'ready', ...fields });

/** Returns `count` Ready pods. They have the same names as the pods of the healthy heartbeats. */
const pods = (count: number) => Array.from({ length: count }, (_, index) => pod(`us-east-${index}`));

const clusters = (fields: Partial<RegionInClusters> = {}): RegionInClusters => ({
  wanted: 2,
  asked: 2,
  pods: pods(2),
  missing: [],
  silentForMs: null,
  silentClusters: [],
  silentPods: [],
  conflicts: [],
  ...fields,
});

/** Fields of a region whose cluster fell silent after it had reported these pods. */
const silentFor = (silentForMs: number, ...silentPods: readonly string[]) => ({
  silentForMs,
  silentClusters: ['asia'],
  silentPods,
});

const minutes = 60_000;

describe('the status of a region from Kubernetes and heartbeats', () => {
  test.each([
    [
      'all renderers are healthy',
      { pods: healthy(2), clusters: clusters() },
      'operational',
      '2 of 2 renderers healthy',
    ],
    [
      'a quarter of the renderers may be missing',
      { pods: healthy(3), clusters: clusters({ wanted: 4, pods: pods(3) }) },
      'operational',
      '3 of 4 renderers healthy: 1 not running',
    ],
    [
      'a pod crashes: the message has the reason from Kubernetes',
      {
        pods: healthy(1),
        clusters: clusters({ pods: [...pods(1), pod('b', { state: 'unready', why: 'CrashLoopBackOff' })] }),
      },
      'degraded_performance',
      '1 of 2 renderers healthy: b is not Ready (CrashLoopBackOff)',
    ],
    [
      'a pod is Ready, but has never sent a heartbeat',
      { pods: healthy(1), clusters: clusters({ pods: [...pods(1), pod('b')] }) },
      'degraded_performance',
      '1 of 2 renderers healthy: b is Ready, but sends no heartbeat',
    ],
    [
      'a pod is Ready, but no longer sends heartbeats',
      { pods: healthy(1), silent: [{ pod: 'b', forMs: 7000 }], clusters: clusters({ pods: [...pods(1), pod('b')] }) },
      'degraded_performance',
      '1 of 2 renderers healthy: b has not been heard for 7 s',
    ],
    [
      'a pod is Ready and sends heartbeats, but has no browser',
      {
        pods: [...healthy(1), heartbeat('b', { browser: 'down' })],
        clusters: clusters({ pods: [...pods(1), pod('b')] }),
      },
      'degraded_performance',
      '1 of 2 renderers healthy: b has no working browser',
    ],
    [
      'a pod that sends heartbeats but is not Ready does not count',
      { pods: healthy(2), clusters: clusters({ pods: [pod('us-east-0'), pod('us-east-1', { state: 'unready' })] }) },
      'degraded_performance',
      '1 of 2 renderers healthy: us-east-1 is not Ready',
    ],
    [
      'a renderer sends heartbeats, but its pod is gone',
      { pods: healthy(2), clusters: clusters({ pods: pods(1) }) },
      'degraded_performance',
      '1 of 2 renderers healthy: 1 not running, us-east-1 sends heartbeats and is no pod of the cluster',
    ],
    [
      'all wanted renderers and one that is not a pod of the cluster',
      { pods: healthy(3), clusters: clusters() },
      'operational',
      '2 of 2 renderers healthy: us-east-2 sends heartbeats and is no pod of the cluster',
    ],
    [
      'three renderers that are not pods of the cluster',
      { pods: healthy(5), clusters: clusters() },
      'operational',
      '2 of 2 renderers healthy: us-east-2, us-east-3, us-east-4 send heartbeats and are no pod of the cluster',
    ],
    [
      'four renderers that are not pods of the cluster, and one that drains',
      { pods: [...healthy(6), heartbeat('old', { draining: true })], clusters: clusters() },
      'operational',
      '2 of 2 renderers healthy: us-east-2, us-east-3, us-east-4 and 1 more send heartbeats and are no pod of the cluster',
    ],
    [
      'a pod that terminates is not a reason',
      { pods: [], clusters: clusters({ wanted: 1, pods: [pod('old', { state: 'ending' })] }) },
      'major_outage',
      '0 of 1 renderers healthy: 1 not running',
    ],
    [
      'there is no pod',
      { pods: [], clusters: clusters({ pods: [] }) },
      'major_outage',
      '0 of 2 renderers healthy: there is no pod',
    ],
    [
      'the message names at most three reasons',
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
      'a rolling update: the new pod is Ready, the old one drains',
      {
        pods: [...healthy(2), heartbeat('old', { draining: true })],
        clusters: clusters({ pods: [...pods(2), pod('old', { state: 'ending' })] }),
      },
      'operational',
      '2 of 2 renderers healthy',
    ],
    [
      'a rolling update before the old pod drains',
      {
        pods: [...healthy(2), heartbeat('old')],
        clusters: clusters({ pods: [...pods(2), pod('old')] }),
      },
      'operational',
      '3 renderers healthy, 2 wanted',
    ],
    [
      'a renderer that died long ago is not a pod of the cluster, and a running one has no browser',
      {
        pods: [...healthy(1), heartbeat('b', { browser: 'down' })],
        silent: [{ pod: 'old', forMs: 9 * minutes }],
        clusters: clusters({ pods: [...pods(1), pod('b')], ...silentFor(20_000, 'us-east-0') }),
      },
      'degraded_performance',
      '1 of 2 renderers healthy: b has no working browser; ' +
        'the cluster asia has not been heard for 20 s, so heartbeats alone are counted',
    ],
    [
      'a silent cluster: the missing renderers are those of its last report and those heard after it',
      {
        pods: healthy(1),
        silent: [
          { pod: 'old', forMs: 9 * minutes },
          { pod: 'listed', forMs: 60_000 },
          { pod: 'newer', forMs: 10_000 },
        ],
        clusters: clusters({ wanted: 4, pods: [], ...silentFor(20_000, 'listed') }),
      },
      'partial_outage',
      '1 of 4 renderers healthy: newer has not been heard for 10 s, listed has not been heard for 60 s, 1 more missing; ' +
        'the cluster asia has not been heard for 20 s, so heartbeats alone are counted',
    ],
    [
      'a silent cluster without a wanted count: the configured count applies',
      {
        wanted: 2,
        pods: [...healthy(1), heartbeat('b', { browser: 'down' })],
        silent: [{ pod: 'old', forMs: 9 * minutes }],
        clusters: clusters({ wanted: null, pods: [], ...silentFor(7 * minutes) }),
      },
      'degraded_performance',
      '1 of 2 renderers healthy: b has no working browser; ' +
        'the cluster asia has not been heard for 7 min, so heartbeats alone are counted',
    ],
    [
      'two clusters with one name: no outage, and both count',
      { pods: healthy(2), clusters: clusters({ conflicts: ['2 clusters report under the name asia'] }) },
      'operational',
      '2 of 2 renderers healthy; 2 clusters report under the name asia',
    ],
    [
      'scaled to zero, although the configuration wants renderers',
      { wanted: 1, pods: [], clusters: clusters({ wanted: 0, pods: [] }) },
      'operational',
      'scaled to zero',
    ],
    [
      'scaling up from zero',
      { pods: healthy(1), clusters: clusters({ wanted: 0, pods: pods(1) }) },
      'operational',
      '1 renderers healthy, scaled to zero within the last minutes',
    ],
    [
      'Kubernetes refuses to create pods',
      { pods: healthy(1), clusters: clusters({ wanted: 2, pods: pods(1), refused: ['exceeded quota: small'] }) },
      'degraded_performance',
      '1 of 2 renderers healthy: 1 not running; Kubernetes refuses to create pods: exceeded quota: small',
    ],
    [
      'a Deployment is missing: the configured count is wanted',
      { wanted: 1, pods: [], clusters: clusters({ wanted: null, pods: [], missing: ['r-us-east'] }) },
      'major_outage',
      '0 of 1 renderers healthy: none is running; the Deployment r-us-east does not exist',
    ],
    [
      'Kubernetes is unavailable: the last wanted count stays, and heartbeats count',
      { pods: healthy(2), clusters: clusters({ pods: [], ...silentFor(20_000) }) },
      'operational',
      '2 of 2 renderers healthy; the cluster asia has not been heard for 20 s, so heartbeats alone are counted',
    ],
    [
      'Kubernetes is unavailable, and a renderer dies',
      { pods: healthy(1), silent: [{ pod: 'b', forMs: 9000 }], clusters: clusters({ pods: [], ...silentFor(20_000) }) },
      'degraded_performance',
      '1 of 2 renderers healthy: b has not been heard for 9 s; ' +
        'the cluster asia has not been heard for 20 s, so heartbeats alone are counted',
    ],
    [
      'Kubernetes is unavailable, and a renderer that is missing from its last list has no browser',
      {
        pods: [...healthy(1), heartbeat('b', { browser: 'down' })],
        clusters: clusters({ pods: pods(1), ...silentFor(20_000) }),
      },
      'degraded_performance',
      '1 of 2 renderers healthy: b has no working browser; ' +
        'the cluster asia has not been heard for 20 s, so heartbeats alone are counted',
    ],
    [
      'Kubernetes is unavailable, and a renderer in its last list has no browser: it is named once',
      {
        pods: [...healthy(1), heartbeat('b', { browser: 'down' })],
        clusters: clusters({ wanted: 3, pods: [...pods(1), pod('b')], ...silentFor(20_000) }),
      },
      'partial_outage',
      '1 of 3 renderers healthy: b has no working browser, 1 more missing; ' +
        'the cluster asia has not been heard for 20 s, so heartbeats alone are counted',
    ],
    [
      'Kubernetes is unavailable for a long time: the configured count is wanted',
      { wanted: 1, pods: healthy(1), clusters: clusters({ wanted: null, pods: [], ...silentFor(7 * minutes) }) },
      'operational',
      '1 of 1 renderers healthy; the cluster asia has not been heard for 7 min, so heartbeats alone are counted',
    ],
    [
      'one of two clusters is unavailable: its renderers count by their heartbeats',
      { pods: healthy(3), clusters: clusters({ wanted: 4, pods: pods(2), ...silentFor(8000) }) },
      'operational',
      '3 of 4 renderers healthy: 1 not running; ' +
        'the cluster asia has not been heard for 8 s, so heartbeats alone are counted',
    ],
  ] as const)('%s', (_, fields, status, message) => {
    expect(decideRegion(region(fields))).toEqual({ status, message });
  });

  test('is unknown while heartbeats cannot be received', () => {
    expect(decideRegion(region({ fleetKnown: false, pods: [], clusters: clusters() }))).toBeNull();
  });
});

describe('the lowest number of wanted renderers within five minutes', () => {
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
    // Scaling up counts after five minutes, and scaling down immediately.
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
    // A short decrease is the minimum until it leaves the window.
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
    // A number that was set before the window counts if it was in force when the window began.
    [
      [
        [0, 3],
        [60, 9],
        [64.9, 9],
        [65.1, 9],
      ],
      [3, 3, 3, 9],
    ],
  ] as const)('follows the steps %j', (steps, least) => {
    expect(at(steps)).toEqual(least);
  });

  test('continues from the value of the previous controller', () => {
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
