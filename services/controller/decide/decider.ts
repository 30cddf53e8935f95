import type { ComponentStatus } from '@webcapture/shared/contract/status.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { StatusReport } from '@webcapture/shared/contract/status-report.ts';
import type { Facts } from '../gather/facts.ts';
import { damp, type Damped } from './damping.ts';
import { decideEngine } from './engine.ts';
import { decideQueue } from './queue.ts';
import { decideRegion } from './region.ts';
import { decideStorage } from './storage.ts';
import { worstStatus, type Verdict } from './verdict.ts';

interface Component {
  readonly damped: Damped;
  /** Unix milliseconds of the reading. */
  readonly at: number;
}

/** Turns facts into the state of all components; remembers only what damping needs. */
export class Decider {
  readonly #components = new Map<string, Component>();

  /** The report after one more reading; null until every component has been read once. */
  next(facts: Facts): StatusReport | null {
    this.#take('queue', decideQueue(facts.queue), facts.at);
    this.#take('storage', decideStorage(facts.storage), facts.storage?.at ?? facts.at);
    // What is heard of renderers comes by way of the queue.
    for (const region of facts.regions) this.#take(nameOf(region.region), decideRegion(region), facts.at);
    return this.#report(facts);
  }

  #take(name: string, reading: Verdict | null, at: number): void {
    if (reading === null) return;
    this.#components.set(name, { damped: damp(this.#components.get(name)?.damped ?? null, reading), at });
  }

  #report(facts: Facts): StatusReport | null {
    const queue = this.#components.get('queue');
    const storage = this.#components.get('storage');
    const regions = facts.regions.map(({ region }) => ({ region, component: this.#components.get(nameOf(region)) }));
    if (queue === undefined || storage === undefined) return null;
    const shown: Partial<Record<Region, Verdict>> = {};
    const components = [
      describe('queue', queue.damped.shown, queue.at),
      describe('storage', storage.damped.shown, storage.at),
    ];
    const described: ComponentStatus[] = [];
    for (const { region, component } of regions) {
      if (component === undefined) return null;
      shown[region] = component.damped.shown;
      described.push(describe(nameOf(region), component.damped.shown, component.at));
    }
    // Of damped regions: the engine is not damped once more.
    components.push(describe('engine', decideEngine(shown), facts.at), ...described);
    return {
      components,
      queued: Object.fromEntries(facts.regions.map(({ region, waiting }) => [region, total(waiting)])),
      overall: worstStatus(components.map(({ status }) => status)),
      at: facts.at,
    };
  }
}

const nameOf = (region: Region) => `engine.${region}`;

const total = (waiting: { interactive: number; background: number } | null) =>
  waiting === null ? 0 : waiting.interactive + waiting.background;

function describe(name: string, { status, message, responseTimeMs }: Verdict, at: number): ComponentStatus {
  return {
    name,
    status,
    ...(responseTimeMs === undefined ? {} : { responseTimeMs: Math.round(responseTimeMs) }),
    message,
    lastCheckedAt: new Date(at).toISOString(),
  };
}
