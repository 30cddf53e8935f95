import { beforeAll, describe, expect, test } from 'vitest';
import { LatestReading } from '../../../services/controller/health/facts.ts';
import { DeletionCosts, applyCosts } from '../../../services/controller/kubernetes/deletion-costs.ts';
import { KubernetesClient, loadInCluster } from '../../../services/controller/kubernetes/client.ts';
import { Inventory } from '../../../services/controller/kubernetes/inventory.ts';
import { tokens } from '../../harness/control-plane.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { answered, heartbeat, region } from '../../integration/controller/support/facts.ts';
import { sharedPlane } from '../support/shared-plane.ts';
import { release, TestNamespace } from '../support/test-namespace.ts';

describe('scaling down', () => {
  let namespace: TestNamespace;
  let client: KubernetesClient;
  beforeAll(async () => {
    const plane = await sharedPlane();
    // This is the last suite, because the controller manager would also create pods for the Deployments of the others.
    await plane.startControllerManager();
    namespace = await TestNamespace.create(plane);
    const accountDir = await plane.accountDir(namespace.name, tokens.controller);
    client = new KubernetesClient({
      load: () => loadInCluster({ host: '127.0.0.1', port: String(plane.port), accountDir }, undefined),
    });
    return () => client.close();
  });

  test('deletes idle renderers first', async () => {
    const aborter = new AbortController();
    const inventory = new Inventory({ client, release, log: silentLog, now: Date.now, onChange: () => undefined });
    const running = inventory.run(aborter.signal);
    await namespace.addDeployment('us-east', 4);
    const names = await until('four pods', async () => {
      const found = await namespace.podNames();
      return found.length === 4 ? found : null;
    });
    for (const name of names) await namespace.setState(name, 'ready');
    await until(
      'all four to be ready',
      () => [...inventory.pods].filter(({ state }) => state === 'ready').length === 4,
    );
    const [busy = '', half = ''] = names.toSorted();
    const load = (name: string) => (name === busy ? 2 : name === half ? 1 : 0);
    const latest = new LatestReading();
    const pods = names.map((name) => heartbeat(name, { busy: load(name) }));
    latest.set({
      facts: { at: 0, queue: answered(), storage: null, clusters: [], regions: [region({ pods })] },
      report: null,
    });
    const metrics = { writes: { inc: () => undefined } } as never;
    const parts = { client, inventory, latest, costs: new DeletionCosts(), metrics };
    await applyCosts(parts, { signal: aborter.signal, holds: () => true });
    await until('the deletion costs to be written', () =>
      [...inventory.pods].some(({ deletionCost }) => deletionCost === 100),
    );
    for (const left of [[busy, half], [busy]]) {
      await namespace.scale('us-east', left.length);
      await until('the other pods to be deleted', async () => (await namespace.podNames()).length === left.length);
      expect((await namespace.podNames()).toSorted()).toEqual(left.toSorted());
    }
    aborter.abort();
    await running;
  });
});
