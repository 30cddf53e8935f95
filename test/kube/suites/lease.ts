import { fileURLToPath } from 'node:url';
import process from 'node:process';
import { beforeAll, describe, expect, test } from 'vitest';
import { KubernetesClient, loadInCluster } from '../../../services/controller/kubernetes/client.ts';
import { kubernetesLeaseStore } from '../../../services/controller/kubernetes/lease.ts';
import { Lease, type LeaseTimes } from '../../../services/controller/leader/lease.ts';
import { kubernetesLeaseTimes } from '../../../services/controller/times.ts';
import { startProcess, type GuardedProcess } from '../../../deploy/local/process.ts';
import { ApiGate } from '../../harness/api-gate.ts';
import { tokens, type ControlPlane } from '../../harness/control-plane.ts';
import { until } from '../../harness/until.ts';
import type { CandidateOptions } from '../support/candidate.ts';
import { sharedPlane } from '../support/shared-plane.ts';
import { TestNamespace } from '../support/test-namespace.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await sharedPlane();
});

/** Shorter times than in production. Renewals are frequent, so that no Lease is lost when a server or leader pauses for seconds. */
const shortTimes: LeaseTimes = {
  ttlMs: 7000,
  marginMs: 2000,
  renewMs: 600,
  retryMs: 150,
  pollMs: 200,
  requestMs: 1500,
};

describe('the Lease with simulated clocks', () => {
  // These times are so long that real time has no effect.
  const slow = { ...kubernetesLeaseTimes, ttlMs: 60_000, marginMs: 10_000, requestMs: 15_000 };
  let client: KubernetesClient;
  let namespace: TestNamespace;
  beforeAll(async () => {
    namespace = await TestNamespace.create(plane);
    const accountDir = await plane.accountDir(namespace.name, tokens.controller);
    client = new KubernetesClient({
      load: () => loadInCluster({ host: '127.0.0.1', port: String(plane.port), accountDir }, undefined),
    });
    return () => client.close();
  });
  const candidate = (lease: string, name: string, clock: { ms: number }) =>
    new Lease(kubernetesLeaseStore(client, { lease, release: 'test' }, slow), name, slow, () => clock.ms);
  const object = (name: string) =>
    namespace.api.do<{ spec: Record<string, unknown> }>('GET', `${namespace.path('leases')}/${name}`);

  test('one candidate acquires it, a release hands it over, and the object shows both', async () => {
    const clock = { ms: 0 };
    const [a, b] = [candidate('hand-over', 'a', clock), candidate('hand-over', 'b', clock)];
    expect([await a.take(), await b.take()]).toEqual([true, false]);
    expect([a.holds(), b.holds()]).toEqual([true, false]);
    expect((await object('hand-over')).spec).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 60,
      acquireTime: expect.stringMatching(/\.\d{6}Z$/) as string,
      renewTime: expect.stringMatching(/\.\d{6}Z$/) as string,
      leaseTransitions: 0,
    });
    await a.release();
    expect([a.holds(), await b.take(), await a.take()]).toEqual([false, true, false]);
    expect((await object('hand-over')).spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  test('only one of many concurrent candidates acquires it', async () => {
    const clock = { ms: 0 };
    const all = Array.from({ length: 12 }, (_, index) => candidate('many', `c${index}`, clock));
    const taken = await Promise.all(all.map((lease) => lease.take()));
    expect(taken.filter(Boolean)).toHaveLength(1);
  });

  test('a holder that does not renew it stops acting before another can acquire it', async () => {
    const [mine, theirs] = [{ ms: 0 }, { ms: 1_000_000 }];
    const [a, b] = [candidate('expiry', 'a', mine), candidate('expiry', 'b', theirs)];
    await a.take();
    await b.take();
    for (const ms of [1, 49_999, 50_000, 59_999, 60_000]) {
      mine.ms = ms;
      theirs.ms = 1_000_000 + ms;
      const mayTake = await b.take();
      expect([ms, a.holds(), mayTake]).toEqual([ms, ms < 50_000, ms >= 60_000]);
    }
    await a.renew();
    expect([a.holds(), b.holds()]).toEqual([false, true]);
  });

  test('a renewal whose response was lost counts', async () => {
    const clock = { ms: 0 };
    const a = candidate('lost', 'a', clock);
    const twin = candidate('lost', 'a', clock);
    await a.take();
    // The holder is the same and the resource version is another one, as after a lost response.
    await twin.take();
    clock.ms = 5000;
    await a.renew();
    clock.ms = 54_999;
    expect(a.holds()).toBe(true);
  });
});

/** Interval of the checks. Each lists all acts, and ten acts are added per second. */
const intervalMs = 250;

/** Runs candidates as separate processes, and reads their acts in the order in which the API server stored them. */
class Candidates implements AsyncDisposable {
  readonly namespace: TestNamespace;
  readonly #times: LeaseTimes;
  readonly #running: GuardedProcess[] = [];

  private constructor(namespace: TestNamespace, times: LeaseTimes) {
    this.namespace = namespace;
    this.#times = times;
  }

  static async in(times: LeaseTimes): Promise<Candidates> {
    return new Candidates(await TestNamespace.create(plane), times);
  }

  /** Resolves when the candidate takes part in the election. */
  async start(name: string, server = `https://127.0.0.1:${plane.port}`): Promise<GuardedProcess> {
    const started = Promise.withResolvers<void>();
    const options: CandidateOptions = {
      name,
      kubeconfig: await plane.kubeconfig(this.namespace.name, tokens.admin, server),
      times: this.#times,
    };
    const candidate = await startProcess({
      name: `candidate ${name}`,
      command: process.execPath,
      args: [fileURLToPath(new URL('../support/candidate.ts', import.meta.url)), JSON.stringify(options)],
      onLine: () => started.resolve(),
    });
    this.#running.push(candidate);
    await started.promise;
    return candidate;
  }

  /** Returns the actors of all acts, in the order in which the API server stored the acts. */
  async acts(): Promise<string[]> {
    interface Act {
      readonly metadata: { readonly resourceVersion: string; readonly labels?: { readonly actor?: string } };
    }
    const { items } = await this.namespace.api.do<{ items: Act[] }>('GET', this.namespace.path('configmaps'));
    return items
      .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
      .map(({ metadata }) => metadata.labels?.actor ?? '');
  }

  /** Returns the actors without repetition: `['a', 'b']` means that b started after a had stopped permanently. */
  async turns(): Promise<string[]> {
    const acts = await this.acts();
    return acts.filter((actor, index) => actor !== acts[index - 1]);
  }

  async untilActs(name: string, deadlineMs = 40_000): Promise<number> {
    const from = performance.now();
    await until(`${name} to act`, async () => (await this.acts()).at(-1) === name, { deadlineMs, intervalMs });
    return Math.round(performance.now() - from);
  }

  async untilMoreThan(count: number): Promise<void> {
    await until(`more than ${count} acts`, async () => (await this.acts()).length > count, { intervalMs });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const candidate of this.#running) candidate.kill('SIGCONT');
    await Promise.all(this.#running.map((candidate) => candidate.stop({ graceMs: 0 })));
  }
}

const say = (what: string, ms: number) => process.stdout.write(`${what}: ${(ms / 1000).toFixed(1)} s\n`);

describe.concurrent('there are never two leaders at once', { timeout: 120_000 }, () => {
  test('a killed leader is replaced, with the intervals of production within 15 s', async ({ expect }) => {
    expect(kubernetesLeaseTimes.ttlMs + kubernetesLeaseTimes.pollMs + 2 * kubernetesLeaseTimes.requestMs).toBeLessThan(
      15_000,
    );
    await using candidates = await Candidates.in(kubernetesLeaseTimes);
    const a = await candidates.start('a');
    await candidates.untilActs('a');
    await candidates.start('b');
    // The remaining time of the lease is longest right after a renewal.
    a.kill('SIGKILL');
    const tookMs = await candidates.untilActs('b');
    say('after SIGKILL of the leader, its successor acts', tookMs);
    // The intervals allow less than 15 s; a busy machine may need more.
    expect(tookMs).toBeLessThan(30_000);
    expect(await candidates.turns()).toEqual(['a', 'b']);
  });

  test('a leader that stops hands over at once', async ({ expect }) => {
    await using candidates = await Candidates.in(kubernetesLeaseTimes);
    const a = await candidates.start('a');
    await candidates.untilActs('a');
    await candidates.start('b');
    a.kill('SIGTERM');
    const tookMs = await candidates.untilActs('b');
    say('after SIGTERM of the leader, its successor acts', tookMs);
    // A Lease does not expire within this time.
    expect(tookMs).toBeLessThan(kubernetesLeaseTimes.ttlMs);
    expect(await candidates.turns()).toEqual(['a', 'b']);
  });

  test('a paused leader does not act when it resumes', async ({ expect }) => {
    await using candidates = await Candidates.in(shortTimes);
    const a = await candidates.start('a');
    await candidates.untilActs('a');
    const b = await candidates.start('b');
    // The leader pauses itself between two acts, because an act in progress would complete after the pause.
    a.kill('SIGUSR2');
    await candidates.untilActs('b');
    const before = (await candidates.acts()).length;
    a.kill('SIGCONT');
    await candidates.untilMoreThan(before + 10);
    expect(await candidates.turns()).toEqual(['a', 'b']);
    // The resumed candidate takes part in the election again.
    b.kill('SIGTERM');
    await candidates.untilActs('a');
    expect(await candidates.turns()).toEqual(['a', 'b', 'a']);
  });

  test('a leader whose connection is cut stops before the other starts', async ({ expect }) => {
    await using candidates = await Candidates.in(shortTimes);
    await using gate = await ApiGate.before(plane);
    await candidates.start('a', gate.url);
    await candidates.untilActs('a');
    await candidates.start('b');
    gate.cut();
    await candidates.untilActs('b');
    gate.restore();
    const before = (await candidates.acts()).length;
    await candidates.untilMoreThan(before + 10);
    expect(await candidates.turns()).toEqual(['a', 'b']);
  });
});
