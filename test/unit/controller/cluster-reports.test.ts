import { describe, expect, test } from 'vitest';
import { type ClusterReport, ClusterReports } from '../../../services/controller/health/cluster-reports.ts';
import { decideRegion } from '../../../services/controller/health/decider.ts';
import { region } from '../../integration/controller/support/facts.ts';

const minutes = 60_000;

describe('the reports of the clusters of a fleet', () => {
  const report = (at: number, wanted: number | null, names: readonly string[], cluster = 'a'): ClusterReport => ({
    cluster,
    namespace: 'n',
    version: '0.2.0',
    at,
    regions: {
      'us-east': { wanted, asked: wanted, pods: names.map((name) => ({ name, state: 'ready' })), missing: [] },
    },
  });
  const reported = (clusters: ClusterReports) => {
    const found = clusters.of('us-east');
    return found === null ? null : [found.wanted, found.pods.map(({ name }) => name), found.silentForMs];
  };

  test('are added up; the pods of a silent cluster stay known for 5 minutes, its renderer count for 15, its silence until then', () => {
    let now = 0;
    const clusters = new ClusterReports(false, () => now);
    expect(reported(clusters)).toBeNull();
    clusters.receive('cluster.a', report(1, 2, ['a1', 'a2']));
    clusters.receive('cluster.b', report(1, 3, ['b1'], 'b'));
    expect(clusters.of('eu-west')).toBeNull();
    expect(reported(clusters)).toEqual([5, ['a1', 'a2', 'b1'], null]);
    now = 5000;
    clusters.receive('cluster.a', report(2, 2, ['a1']));
    expect(reported(clusters)).toEqual([5, ['a1', 'b1'], null]);
    now = 6000;
    expect(reported(clusters)).toEqual([5, ['a1'], 6000]);
    // Neither the expiry of the report nor its repetition counts as a new report.
    clusters.receive('cluster.b', null);
    clusters.receive('cluster.b', report(1, 3, ['b1'], 'b'));
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

  test('a controller with a cluster reports the silence when no cluster has ever reported', () => {
    let now = 0;
    const clusters = new ClusterReports(true, () => now);
    now = 14_999;
    expect(reported(clusters)).toBeNull();
    now = 15_000;
    expect(reported(clusters)).toEqual([null, [], 15_000]);
    expect(decideRegion(region({ clusters: clusters.of('us-east') }))).toEqual({
      status: 'operational',
      message: '1 of 1 renderers healthy; no cluster has been heard for 15 s, so heartbeats alone are counted',
    });
    clusters.receive('cluster.a', { ...report(1, 2, []), regions: {} });
    expect(reported(clusters)).toBeNull();
  });

  const named = (cluster: string, at: number, names: readonly string[]) => report(at, names.length, names, cluster);

  test('a rebuilt cluster replaces its former entry with its second report', () => {
    let now = 0;
    const clusters = new ClusterReports(false, () => now);
    clusters.receive('cluster.us-east.old', named('asia', 1, ['a1', 'a2']));
    clusters.receive('cluster.us-east.old', named('asia', 2, ['a1', 'a2']));
    clusters.receive('cluster.us-east.other', named('other', 1, ['o1']));
    now = 20_000;
    clusters.receive('cluster.us-east.other', named('other', 2, ['o1']));
    clusters.receive('cluster.us-east.new', named('asia', 3, ['n1', 'n2']));
    // The reports of two clusters with one name may alternate.
    expect(reported(clusters)).toEqual([5, ['o1', 'n1', 'n2'], 20_000]);
    now = 22_000;
    clusters.receive('cluster.us-east.new', named('asia', 4, ['n1', 'n2']));
    expect(reported(clusters)).toEqual([3, ['o1', 'n1', 'n2'], null]);
    expect(clusters.list(['us-east'], '0.2.0').map(({ name, problems }) => [name, problems])).toEqual([
      ['asia', []],
      ['other', []],
    ]);
  });

  test('a restarted watch may deliver the former entry before that of the rebuilt cluster', () => {
    const clusters = new ClusterReports(false, () => 0);
    clusters.receive('cluster.us-east.old', named('asia', 1, ['a1']));
    clusters.receive('cluster.us-east.new', named('asia', 2, ['n1']));
    clusters.receive('cluster.us-east.new', named('asia', 3, ['n1']));
    expect(reported(clusters)).toEqual([1, ['n1'], null]);
  });

  test('a satellite whose first region changes stays the same cluster, by its Lease', () => {
    const clusters = new ClusterReports(false, () => 0);
    clusters.receive('cluster.us-east.a', named('n/r/us-east', 1, ['a1']));
    for (const at of [2, 3]) clusters.receive('cluster.eu-west.a', named('n/r/eu-west', at, ['a1']));
    expect(reported(clusters)).toEqual([1, ['a1'], null]);
  });

  test('two clusters that report under one name at the same time both count, and both show how to resolve the conflict', () => {
    let now = 0;
    const clusters = new ClusterReports(false, () => now);
    for (const at of [1, 2, 3]) {
      clusters.receive('cluster.us-east.1111111111', named('asia', at, ['a1']));
      clusters.receive('cluster.us-east.2222222222', named('asia', at, ['b1']));
    }
    expect(reported(clusters)).toEqual([2, ['a1', 'b1'], null]);
    const conflict =
      '2 clusters report under the name asia (in the namespace n with the Lease 11111111, and in the namespace n with the ' +
      'Lease 22222222); set another cluster.name (WEBCAPTURE_CLUSTER_NAME) in all but one of them';
    expect(clusters.of('us-east')?.conflicts).toEqual([conflict]);
    expect(clusters.list(['us-east'], '0.2.0').map(({ problems }) => problems)).toEqual([[conflict], [conflict]]);
    // The connection of one cluster is cut. It does not become a former entry of the other.
    now = 8000;
    clusters.receive('cluster.us-east.2222222222', named('asia', 4, ['b1']));
    expect(reported(clusters)).toEqual([2, ['b1'], 8000]);
    expect(clusters.of('us-east')).toMatchObject({ silentClusters: ['asia'], silentPods: ['a1'], conflicts: [] });
  });

  test('problems name their cluster, and last as long as it reports', () => {
    let now = 0;
    const clusters = new ClusterReports(false, () => now);
    clusters.receive('cluster.a', { ...named('asia', 1, ['a1']), version: '0.1.9' });
    clusters.receive('cluster.b', report(1, 1, ['b1'], 'b'));
    const problems = () => clusters.list(['eu-west'], '0.2.0').flatMap((cluster) => cluster.problems);
    const unknown = 'has renderers of us-east, which is not installed here; add it to otherRegions of the hub';
    expect(problems()).toEqual([
      expect.stringContaining(`the cluster asia ${unknown}`),
      'the cluster asia runs version 0.1.9; 0.2.0 is the oldest that works with this hub; upgrade it',
      expect.stringContaining(`the cluster b ${unknown}`),
    ]);
    now = 5001;
    expect(problems()).toEqual([]);
  });
});
