// @module-tag long
import { writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { regions, type Region } from '@webcapture/shared/runtime/regions.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { Fleet } from '@webcapture/shared/queue/fleet.ts';
import { LatestReading } from '../../services/controller/health/facts.ts';
import { Decider } from '../../services/controller/health/decider.ts';
import { DeletionCosts, applyCosts } from '../../services/controller/kubernetes/deletion-costs.ts';
import { Collector } from '../../services/controller/health/collector.ts';
import { clusterKey, ClusterReports } from '../../services/controller/health/cluster-reports.ts';
import { KubernetesClient, loadKubeconfig } from '../../services/controller/kubernetes/client.ts';
import { Inventory } from '../../services/controller/kubernetes/inventory.ts';
import { publishClusterReport } from '../../services/controller/kubernetes/run.ts';
import { silentLog, startTestNats, streamSettings, type TestNats } from '../harness/nats-session.ts';
import { until } from '../harness/until.ts';
import { heartbeat } from '../integration/controller/support/facts.ts';

const podCount = 5000;
const pageSize = 500;
const podOf = (index: number) => `webcapture-renderer-7d9f8c6b5-${String(index).padStart(5, '0')}`;
const regionOf = (index: number): Region => regions[index % regions.length] ?? 'us-east';

/** A pod of a realistic size, most of which the controller ignores. */
function podObject(index: number, version: number) {
  const name = podOf(index);
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      resourceVersion: String(version),
      labels: {
        'app.kubernetes.io/component': 'renderer',
        'webcapture.dev/region': regionOf(index),
      },
      managedFields: Array.from({ length: 3 }, (_, field) => ({
        manager: 'x',
        fieldsV1: 'f'.repeat(1200),
        field,
      })),
    },
    spec: {
      containers: [{ name: 'renderer', env: Array.from({ length: 20 }, (_, n) => ({ name: `V${n}`, value: 'v' })) }],
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

/** Simulates lists and watches of a large cluster, because filling a real API server takes minutes. */
async function largeCluster() {
  let version = 1;
  const watches = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    const isPods = pathname.endsWith('/pods');
    if (searchParams.get('watch') === 'true') {
      response.writeHead(200).flushHeaders();
      if (!isPods) return;
      watches.add(response);
      response.on('close', () => watches.delete(response));
      return;
    }
    const from = Number(searchParams.get('continue') ?? 0);
    const count = isPods ? Math.min(pageSize, podCount - from) : 0;
    const items: unknown[] = Array.from({ length: count }, (_, index) => podObject(from + index, version));
    if (pathname.endsWith('/deployments')) items.push(...regions.map(deploymentObject));
    const next = isPods && from + count < podCount ? String(from + count) : undefined;
    response.end(JSON.stringify({ metadata: { resourceVersion: String(version), continue: next }, items }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isWatched: () => watches.size > 0,
    /** Changes this number of pods. */
    async change(count: number): Promise<void> {
      const [watch] = watches;
      for (let index = 0; index < count; index++) {
        const line = `${JSON.stringify({ type: 'MODIFIED', object: podObject(index % podCount, ++version) })}\n`;
        if (watch?.write(line) === false) await new Promise((resolve) => watch.once('drain', resolve));
      }
    },
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const deploymentObject = (region: Region) => ({
  metadata: { name: region, uid: region, resourceVersion: '1' },
  spec: {
    replicas: Math.floor(podCount / regions.length),
    template: { metadata: { labels: { 'webcapture.dev/region': region } } },
  },
});

const configOf = (server: string) => ({
  // The library requires this without TLS.
  clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
  users: [{ name: 'u', user: {} }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'n' } }],
  'current-context': 'x',
});

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats();
});
afterAll(() => nats[Symbol.asyncDispose]());

test('with 5,000 pods a pass of the controller takes less than 100 ms, and the memory does not grow', async () => {
  const cluster = await largeCluster();
  const kubeconfig = join(inject('tempFolder'), 'many-pods-kubeconfig');
  await writeFile(kubeconfig, JSON.stringify(configOf(cluster.url)));
  const client = new KubernetesClient({ load: () => loadKubeconfig([kubeconfig]) });
  let changes = 0;
  const inventory = new Inventory({ client, release: 'r', log: silentLog, now: Date.now, onChange: () => changes++ });
  const aborter = new AbortController();
  const startedAt = performance.now();
  const running = inventory.run(aborter.signal);
  await until('all pods to be listed', () => inventory.isCurrent);
  const listedMs = performance.now() - startedAt;

  const fleet = new Fleet();
  const beat = (at: number) => {
    for (let index = 0; index < podCount; index++) {
      const region = regionOf(index);
      fleet.apply(`fleet.${region}.${podOf(index)}`, heartbeat(podOf(index), { region, busy: 0 }), at);
    }
  };
  const clusters = new ClusterReports(true);
  const following = clusters.follow(nats.session, { log: silentLog, signal: aborter.signal });
  const live = new Entries(nats.session, 'live');
  const collector = new Collector({
    session: nats.session,
    streams: streamSettings,
    fleet,
    clusters,
    regions: regions.map((region) => ({
      region,
      minRenderers: 1,
    })),
    storage: {
      facts: {
        kind: 'works',
        at: 0,
        ms: 1,
      },
    },
    pending: () => new Set(),
    canaries: { of: () => null },
  });
  const [decider, latest, costs] = [new Decider(), new LatestReading(), new DeletionCosts()];
  const metrics = { writes: { inc: () => undefined } } as never;
  const term = { signal: aborter.signal, holds: () => true };
  const lease = { holds: () => true, held: { uid: 'large' } };
  const publish = () =>
    publishClusterReport({ client, inventory, live, lease, cluster: 'large', reportKey: clusterKey });
  const pass = async () => {
    const before = process.cpuUsage();
    await publish();
    const facts = await collector.read();
    const report = decider.next(facts);
    latest.set({ facts, report });
    await applyCosts({ client, inventory, latest, costs, metrics }, term);
    // Processor time is measured, because other tests run concurrently.
    const { user, system } = process.cpuUsage(before);
    return { tookMs: (user + system) / 1000, report };
  };
  await publish();
  await until('the report to be received', () => clusters.of('us-east'));
  const took: number[] = [];
  let report: Awaited<ReturnType<typeof pass>>['report'] = null;
  for (let round = 0; round < 12; round++) {
    beat(round + 1);
    const done = await pass();
    report = done.report;
    if (round >= 2) took.push(done.tookMs);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  const count = Math.floor(podCount / regions.length);
  expect(report?.components.find(({ name }) => name === 'engine.us-east')?.message).toMatch(
    new RegExp(`^${count + 1} renderers healthy, ${count} wanted`),
  );

  await until('the watch to be open', cluster.isWatched);
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const heapMb = () => {
    gc();
    return process.memoryUsage().heapUsed / 1e6;
  };
  const listed = changes;
  await cluster.change(podCount);
  await until('the changes to be received', () => changes >= listed + podCount);
  const before = heapMb();
  const from = performance.now();
  const [rounds, before2] = [4, changes];
  for (let round = 0; round < rounds; round++) await cluster.change(podCount);
  await until('the changes to be received', () => changes >= before2 + rounds * podCount);
  const changedMs = performance.now() - from;
  const after = heapMb();
  const median = took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)] ?? 0;
  process.stdout.write(
    `${podCount} pods: listed in ${listedMs.toFixed(0)} ms; a pass takes ${median.toFixed(0)} ms of processor time (maximum ` +
      `${Math.max(...took).toFixed(0)}); ${rounds * podCount} changes in ${changedMs.toFixed(0)} ms; ` +
      `heap ${before.toFixed(0)} MB, then ${after.toFixed(0)} MB\n`,
  );
  expect(median).toBeLessThan(100);
  expect(after - before).toBeLessThan(10);

  aborter.abort();
  await Promise.all([running, following]);
  await client.close();
  await cluster.close();
});
