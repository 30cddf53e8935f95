import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { controllerTimes, kubernetesLeaseTimes } from '../../../services/controller/times.ts';
import { RegionEvents } from '../../../services/controller/kubernetes/render-regions.ts';
import { KubernetesClient, loadKubeconfig } from '../../../services/controller/kubernetes/client.ts';
import { deletionCostKey } from '../../../services/controller/kubernetes/objects.ts';
import { ApiGate } from '../../harness/api-gate.ts';
import { tokens, type ControlPlane } from '../../harness/control-plane.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { StandInRenderer } from '../../integration/controller/support/stand-in-renderer.ts';
import { reportOf, untilShown } from '../../integration/controller/support/status.ts';
import { TestController } from '../../integration/controller/support/test-controller.ts';
import { sharedPlane } from '../support/shared-plane.ts';
import { release, TestNamespace } from '../support/test-namespace.ts';

// One controller with nearly the intervals of production, a real API server and a real NATS. The tests depend on each other.
let plane: ControlPlane;
let namespace: TestNamespace;
let gate: ApiGate;
let nats: TestNats;
let session: NatsSession;
let controller: TestController;
/** A controller in another namespace, which it takes for another cluster. */
let elsewhere: { readonly namespace: TestNamespace; readonly controller: TestController };
let opsUrl: string;
const renderers = new Map<string, StandInRenderer>();

/** Adds a pod and its renderer. */
async function add(region: Region, name: string, where = namespace): Promise<void> {
  await where.addPod(name, region);
  renderers.set(name, new StandInRenderer(session, region, name));
}

/** Kills the renderer process, but not its pod. */
function kill(name: string): void {
  renderers.get(name)?.die();
  renderers.delete(name);
}

const messageOf = async (region: Region) =>
  (await reportOf(session))?.components.find(({ name }) => name === `engine.${region}`)?.message;

const untilMessage = (region: Region, message: string | RegExp) =>
  until(
    `the message of ${region} to be ${message}`,
    async () => {
      const said = (await messageOf(region)) ?? '';
      if (typeof message === 'string' ? said === message : message.test(said)) return true;
      throw new Error(`it is: ${said}`);
    },
    { intervalMs: 100 },
  );

/** Times of production, except for two: the status interval, and the times of the Lease, which is lost later than usual after a pause. */
const times = {
  statusMs: 1000,
  kubernetes: {
    ...controllerTimes.kubernetes,
    lease: { ...kubernetesLeaseTimes, ttlMs: 6000, marginMs: 1500, renewMs: 500, retryMs: 250, requestMs: 1200 },
  },
};

const say = (what: string, ms: number) => process.stdout.write(`${what}: ${(ms / 1000).toFixed(1)} s\n`);

/** Returns the table that kubectl prints; the API server creates it. */
async function table(): Promise<string[][]> {
  interface Table {
    readonly columnDefinitions: { readonly name: string }[];
    readonly rows: { readonly cells: unknown[] }[];
  }
  const { columnDefinitions, rows } = await namespace.api.do<Table>('GET', namespace.path('renderregions'), undefined, {
    accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  });
  return [columnDefinitions.map(({ name }) => name), ...rows.map(({ cells }) => cells.map(String))];
}

// The suite runs concurrently with the others; its own tests run in order.
describe.concurrent('the controller', { timeout: 120_000 }, () => {
  describe('in its cluster', { concurrent: false }, () => {
    beforeAll(async () => {
      plane = await sharedPlane();
      [namespace, gate, nats] = await Promise.all([
        TestNamespace.create(plane),
        ApiGate.before(plane),
        startTestNats(['us-east', 'eu-west', 'asia-east']),
      ]);
      session = nats.session;
      await Promise.all([
        namespace.addRegion('us-east'),
        namespace.addRegion('eu-west'),
        namespace.addDeployment('us-east', 2),
        namespace.addDeployment('eu-west', 0),
        add('us-east', 'east-1'),
        add('us-east', 'east-2'),
      ]);
      const env = {
        WEBCAPTURE_NATS_URL: nats.url,
        WEBCAPTURE_REGIONS: 'us-east:1,eu-west:1,asia-east:1',
        WEBCAPTURE_KUBERNETES: 'on',
        WEBCAPTURE_RELEASE: release,
        KUBECONFIG: await plane.kubeconfig(namespace.name, tokens.controller, gate.url),
      };
      controller = await TestController.start(env, times);
      await until(
        'it to become the leader of the fleet',
        async () => (await controller.metric('webcapture_controller_leader')) === 1,
      );
      const other = await TestNamespace.create(plane);
      await Promise.all([
        other.addRegion('asia-east'),
        other.addDeployment('asia-east', 1),
        add('asia-east', 'asia-1', other),
      ]);
      const kubeconfig = await plane.kubeconfig(other.name, tokens.controller);
      elsewhere = {
        namespace: other,
        controller: await TestController.start({ ...env, WEBCAPTURE_POD: 'other', KUBECONFIG: kubeconfig }, times),
      };
      opsUrl = controller.opsUrl;
    });
    afterAll(async () => {
      await Promise.all([...renderers.values()].map((renderer) => renderer.stop()));
      await controller.stop();
      await gate[Symbol.asyncDispose]();
      await nats[Symbol.asyncDispose]();
    });

    test('a RenderRegion has the status and message of /status', async () => {
      await untilMessage('us-east', '2 of 2 renderers healthy');
      await untilShown(session, 'engine.us-east', 'operational');
      await until('both resources to be written', async () => {
        const [head, ...rows] = await table();
        const withoutAge = rows.map((cells) => cells.filter((_, index) => head?.[index] !== 'Age'));
        expect(head).toEqual(['Name', 'Status', 'Ready', 'Wanted', 'Slots', 'Busy', 'Queued', 'Age', 'Message']);
        expect(withoutAge).toEqual([
          // The region is configured with one renderer, but the Deployment wants none, because it was scaled to zero on purpose.
          ['eu-west', 'operational', '0', '0', '0', '0', '0', 'scaled to zero'],
          ['us-east', 'operational', '2', '2', '4', '0', '0', '2 of 2 renderers healthy'],
        ]);
        return true;
      });
      const { status } = await namespace.region('us-east');
      expect(status?.conditions).toEqual([
        expect.objectContaining({ type: 'Operational', status: 'True', reason: 'Operational' }),
        expect.objectContaining({ type: 'DeploymentFound', status: 'True', reason: 'Found' }),
        expect.objectContaining({ type: 'Ready', status: 'True', reason: 'Operational', observedGeneration: 1 }),
      ]);
      expect(await namespace.events('us-east')).toEqual([]);
    });

    test('an unchanged status is not written again', async () => {
      const writes = () => gate.requests.filter(({ method, path }) => method !== 'GET' && !path.includes('/leases/'));
      // The writes for the pods that became ready must be complete.
      await until('a second without a write', async () => {
        const seen = writes().length;
        await new Promise((resolve) => setTimeout(resolve, 1000));
        return writes().length === seen;
      });
      const { resourceVersion } = (await namespace.region('us-east')).metadata;
      const before = writes().length;
      await until('some passes', async () => (await controller.metric('webcapture_kubernetes_leader')) === 1);
      await new Promise((resolve) => setTimeout(resolve, 2000));
      expect((await namespace.region('us-east')).metadata.resourceVersion).toBe(resourceVersion);
      expect(writes().slice(before)).toEqual([]);
    });

    test('a deleted pod shows within 10 s, with its reason, a condition and one Event', async () => {
      const before = await namespace.region('us-east');
      const from = performance.now();
      // The node no longer exists: the pod is deleted, while its last heartbeat is still fresh.
      kill('east-2');
      await namespace.killPod('east-2');
      await untilShown(session, 'engine.us-east', 'degraded_performance');
      const tookMs = performance.now() - from;
      say('after the end of a pod, the status changed', tookMs);
      expect(tookMs).toBeLessThan(10_000);
      expect(await messageOf('us-east')).toMatch(/^1 of 2 renderers healthy: 1 not running/);
      await until('the resource to follow', async () => {
        const { status } = await namespace.region('us-east');
        return status?.status === 'degraded_performance' && status.ready === 1;
      });
      const { status } = await namespace.region('us-east');
      const conditions = (resource: typeof before) =>
        resource.status?.conditions?.map((each) => each.lastTransitionTime);
      expect(status?.conditions?.[0]).toMatchObject({
        type: 'Operational',
        status: 'False',
        reason: 'DegradedPerformance',
      });
      expect(status?.conditions?.[1]?.lastTransitionTime).toBe(conditions(before)?.[1]);
      expect(await until('the Event', async () => (await namespace.events('us-east'))[0])).toMatchObject({
        reason: 'DegradedPerformance',
        count: 1,
      });
      await add('us-east', 'east-3');
      await untilMessage('us-east', '2 of 2 renderers healthy');
      await until('the second Event', async () => (await namespace.events('us-east')).length === 2);
      expect((await namespace.events('us-east')).map(({ reason }) => reason)).toEqual([
        'DegradedPerformance',
        'Operational',
      ]);
    });

    test('a pod whose process is stopped shows as silent, although Kubernetes has it as Ready', async () => {
      const { lastBeatAt = 0 } = renderers.get('east-3') ?? {};
      kill('east-3');
      await untilMessage('us-east', /^1 of 2 renderers healthy: east-3 has not been heard for \d+ s$/);
      const tookMs = performance.now() - lastBeatAt;
      say('after the last heartbeat of a Ready pod, the status changed', tookMs);
      expect(tookMs).toBeLessThan(25_000);
      await namespace.setState('east-3', 'unready', 'CrashLoopBackOff');
      await untilMessage('us-east', '1 of 2 renderers healthy: east-3 is not Ready (CrashLoopBackOff)');
      await namespace.setState('east-3', 'ready');
      renderers.set('east-3', new StandInRenderer(session, 'us-east', 'east-3'));
      await untilMessage('us-east', '2 of 2 renderers healthy');
    });

    test('scaling up and a rolling update are not outages', async () => {
      await namespace.scale('us-east', 8);
      await add('us-east', 'east-4');
      await until('the old pod to be terminating', async () => {
        await namespace.endPod('east-1');
        return true;
      });
      const old = renderers.get('east-1');
      if (old !== undefined) old.says = { draining: true };
      const changes = controller.changes('engine.us-east').length;
      await until('the pods to be seen', async () => (await namespace.region('us-east')).status?.slots === 4);
      await untilMessage('us-east', '2 of 2 renderers healthy');
      await namespace.killPod('east-1');
      await renderers.get('east-1')?.stop();
      renderers.delete('east-1');
      await new Promise((resolve) => setTimeout(resolve, 2500));
      expect(controller.changes('engine.us-east')).toHaveLength(changes);
      // On a busy machine the resource may be written seconds later.
      await until('the resource to follow', async () => {
        const wanted = { status: 'operational', wanted: 8, expected: 2, ready: 2 };
        expect((await namespace.region('us-east')).status).toMatchObject(wanted);
        return true;
      });
    });

    test('busy pods have a higher deletion cost, and /scale returns the load of a region for autoscalers', async () => {
      const busy = renderers.get('east-3');
      if (busy !== undefined) busy.says = { busy: 2 };
      const costs = async () =>
        Promise.all(
          ['east-3', 'east-4'].map(
            async (name) => (await namespace.pod(name)).metadata?.annotations?.[deletionCostKey],
          ),
        );
      await until('the deletion cost to be written', async () => (await costs())[0] === '100');
      expect(await costs()).toEqual(['100', undefined]);
      const scale = async (region: string) => {
        const response = await fetch(`${opsUrl}/scale/${region}`);
        return [response.status, await response.json()];
      };
      expect(await scale('us-east')).toEqual([200, { value: 0.5 }]);
      expect(await scale('eu-west')).toEqual([200, { value: 0 }]);
      expect(await scale('mars')).toEqual([
        404,
        { message: 'no region mars is installed; there are: us-east, eu-west, asia-east' },
      ]);
    });

    test('the leader of the fleet reports the pods of another cluster', async () => {
      await untilMessage('asia-east', '1 of 1 renderers healthy');
      await elsewhere.namespace.setState('asia-1', 'unready', 'ImagePullBackOff');
      const expected = '0 of 1 renderers healthy: asia-1 is not Ready (ImagePullBackOff)';
      await untilMessage('asia-east', expected);
      await until('the resource in the other cluster to follow', async () => {
        const { status } = await elsewhere.namespace.region('asia-east');
        return status?.status === 'major_outage' && status.message === expected;
      });
      expect(await elsewhere.controller.metric('webcapture_controller_leader')).toBe(0);
      expect(await elsewhere.controller.metric('webcapture_kubernetes_leader')).toBe(1);
      expect(await controller.metric('webcapture_kubernetes_leader')).toBe(1);
      await elsewhere.namespace.setState('asia-1', 'ready');
      await untilMessage('asia-east', '1 of 1 renderers healthy');
    });

    test('while the API server is unavailable heartbeats count, the message shows it, and no status changes', async () => {
      const changes = controller.changes('engine.us-east').length;
      gate.cut();
      await untilMessage(
        'us-east',
        /^2 of 2 renderers healthy; the cluster \S+ has not been heard for \d+ s, so heartbeats alone are counted$/,
      );
      await until('the Lease to be lost', async () => (await controller.metric('webcapture_kubernetes_leader')) === 0);
      await untilMessage('us-east', /^2 of 2 renderers healthy; the cluster/);
      gate.restore();
      await untilMessage('us-east', '2 of 2 renderers healthy');
      expect(controller.changes('engine.us-east')).toHaveLength(changes);
    });

    test('its rights are sufficient, and its metrics show errors, leadership and writes', async () => {
      const errors = (kind: string) => controller.metric(`webcapture_kubernetes_api_errors_total{kind="${kind}"}`);
      expect([await errors('forbidden'), await errors('unauthorized'), await errors('other')]).toEqual([0, 0, 0]);
      expect(await errors('connection')).toBeGreaterThan(0);
      // The controller acquires the lost Lease again at its next attempt.
      await until(
        'the Lease to be acquired',
        async () => (await controller.metric('webcapture_kubernetes_leader')) === 1,
      );
      expect(await controller.metric('webcapture_kubernetes_informer_age_seconds{resource="pods"}')).toBeLessThan(30);
      expect(await controller.metric('webcapture_region_renderers_healthy{region="us-east"}')).toBe(2);
      expect(await controller.metric('webcapture_kubernetes_writes_total{object="pod"}')).toBe(1);
    });

    test('a controller releases its Lease when it stops', async () => {
      const lease = `${elsewhere.namespace.path('leases')}/webcapture-controller`;
      const holder = async () =>
        (await namespace.api.do<{ spec: { holderIdentity: string } }>('GET', lease)).spec.holderIdentity;
      expect(await holder()).toMatch(/^other\//);
      await elsewhere.controller.stop();
      expect(await holder()).toBe('');
    });

    describe('Events', () => {
      test('an Event that could not be created is created once later', async () => {
        await using between = await ApiGate.before(plane);
        const file = await plane.kubeconfig(namespace.name, tokens.controller, between.url);
        const client = new KubernetesClient({ load: () => loadKubeconfig([file], undefined) });
        const events = new RegionEvents(client, 'test');
        const region = await namespace.region('eu-west');
        // Another uid, because the controller creates Events for the real region.
        const of = (status: 'operational' | 'partial_outage') => [
          { ...region, metadata: { ...region.metadata, uid: 'made-up' }, status: { status, message: 'half is gone' } },
        ];
        let recorded = 0;
        const follow = (status: 'operational' | 'partial_outage') =>
          events.follow(of(status), { holds: () => true, onRecorded: () => (recorded += 1) });
        await follow('operational');
        between.fault = ({ method }) => (method === 'POST' ? { kind: 'status', status: 503 } : null);
        await expect(follow('partial_outage')).rejects.toThrow('503');
        between.fault = () => null;
        await follow('partial_outage');
        await follow('partial_outage');
        expect(recorded).toBe(1);
        const made = await namespace.events('eu-west');
        expect(made.filter(({ note }) => note === 'half is gone')).toEqual([
          { reason: 'PartialOutage', note: 'half is gone', count: 1 },
        ]);
        await client.close();
      });

      test('repeated changes of a region result in one Event of each kind with a count', async () => {
        const file = await plane.kubeconfig(namespace.name, tokens.controller);
        const client = new KubernetesClient({ load: () => loadKubeconfig([file], undefined) });
        const events = new RegionEvents(client, 'test');
        const region = await namespace.region('eu-west');
        for (let round = 0; round < 3; round++) {
          await events.record(region, 'major_outage', 'there is no pod');
          await events.record(region, 'operational', 'scaled to zero');
        }
        // The running controller may create other Events.
        expect(await namespace.events('eu-west')).toEqual(
          expect.arrayContaining([
            { reason: 'MajorOutage', note: 'there is no pod', count: 3 },
            { reason: 'Operational', note: 'scaled to zero', count: 3 },
          ]),
        );
        await client.close();
      });
    });
  });
});
