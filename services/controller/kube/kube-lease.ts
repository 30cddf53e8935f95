import type { Candidate } from '../leader/election.ts';
import type { LeaseTimes } from '../leader/lease.ts';
import { isConflict, isNotFound } from './api-error.ts';
import type { KubeConnection } from './connection.ts';
import { microTime } from './micro-time.ts';
import type { KubeObject } from './reflector.ts';

/** A request and the time to end what it began fit between the end of acting and the end of the lease. */
export const kubeLeaseTimes: LeaseTimes = Object.freeze({
  ttlMs: 9000,
  marginMs: 2500,
  renewMs: 2000,
  retryMs: 500,
  pollMs: 1000,
  requestMs: 2000,
});

interface LeaseObject extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

/**
 * The leadership in one cluster, in a Lease of its API. It is held for `ttlMs` from a write; the holder counts that from
 * before the write and stops `marginMs` early, the others count it from when they have read that write, each on its own
 * monotonic clock: the times in the object are for people who look. Each write names the version it follows.
 */
export class KubeLease implements Candidate {
  readonly #connection: KubeConnection;
  readonly #name: string;
  readonly #holder: string;
  readonly #times: LeaseTimes;
  readonly #now: () => number;
  /** What we wrote last; null while we do not hold it. */
  #held: LeaseObject | null = null;
  #actUntil = 0;
  #seen: { readonly version: string; readonly at: number } | null = null;

  constructor(
    connection: KubeConnection,
    name: string,
    holder: string,
    times: LeaseTimes = kubeLeaseTimes,
    now: () => number = () => performance.now(),
  ) {
    this.#connection = connection;
    this.#name = name;
    this.#holder = holder;
    this.#times = times;
    this.#now = now;
  }

  holds(): boolean {
    return this.#held !== null && this.#now() < this.#actUntil;
  }

  /** Names the cluster (and the namespace in it) as nothing else does; null while this process does not lead. */
  get uid(): string | null {
    return this.#held?.metadata.uid ?? null;
  }

  async take(): Promise<boolean> {
    const startedAt = this.#now();
    const found = await this.#read();
    if (found !== null && !this.#isFree(found)) return false;
    try {
      this.#hold(await this.#write(found, this.#holder), startedAt);
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  }

  async renew(): Promise<void> {
    if (this.#held === null) return;
    const startedAt = this.#now();
    try {
      this.#hold(await this.#write(this.#held, this.#holder), startedAt);
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      // Our own write whose answer was lost, or somebody else's; or somebody deleted it.
      const found = await this.#read();
      this.#held = found?.spec?.holderIdentity === this.#holder ? found : null;
      if (this.#held !== null) this.#hold(await this.#write(this.#held, this.#holder), startedAt);
    }
  }

  async release(): Promise<void> {
    const held = this.#held;
    this.#held = null;
    if (held !== null) await this.#write(held, '');
  }

  #isFree(found: LeaseObject): boolean {
    const { holderIdentity = '', leaseDurationSeconds = 0 } = found.spec ?? {};
    if (holderIdentity === '' || holderIdentity === this.#holder) return true;
    const version = found.metadata.resourceVersion;
    if (this.#seen?.version !== version) this.#seen = { version, at: this.#now() };
    // A holder with other times in mind than ours is waited for as long as it says.
    return this.#now() - this.#seen.at >= Math.max(this.#times.ttlMs, leaseDurationSeconds * 1000);
  }

  #hold(written: LeaseObject, startedAt: number): void {
    this.#held = written;
    this.#actUntil = startedAt + this.#times.ttlMs - this.#times.marginMs;
  }

  async #read(): Promise<LeaseObject | null> {
    try {
      const path = `${await this.#collection()}/${this.#name}`;
      return await this.#connection.request<LeaseObject>({ method: 'GET', path, limitMs: this.#times.requestMs });
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  async #write(before: LeaseObject | null, holder: string): Promise<LeaseObject> {
    const collection = await this.#collection();
    const was = before?.spec ?? {};
    const now = microTime();
    const isNew = was.holderIdentity !== holder && holder !== '';
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: before?.metadata ?? { name: this.#name },
      spec: {
        ...was,
        holderIdentity: holder,
        leaseDurationSeconds: Math.ceil(this.#times.ttlMs / 1000),
        renewTime: now,
        ...(isNew ? { acquireTime: now, leaseTransitions: before === null ? 0 : (was.leaseTransitions ?? 0) + 1 } : {}),
      },
    };
    return this.#connection.request<LeaseObject>({
      method: before === null ? 'POST' : 'PUT',
      path: before === null ? collection : `${collection}/${this.#name}`,
      body,
      limitMs: this.#times.requestMs,
    });
  }

  async #collection(): Promise<string> {
    return `/apis/coordination.k8s.io/v1/namespaces/${await this.#connection.namespace()}/leases`;
  }
}
