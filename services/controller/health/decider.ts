import type { ComponentStatus, StatusReport } from '@webcapture/shared/api/status.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { Facts, QueueFacts, StorageFacts } from './facts.ts';
import { decideRegion } from './region.ts';
import { damp, type Damped, reasonsOf, type Verdict, worstStatus } from './verdict.ts';

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

const queueSlowMs = 1000;

/** The queue and the database behind it: nothing works without them. */
export function decideQueue(facts: QueueFacts): Verdict {
  if (facts.kind === 'unreachable') return { status: 'major_outage', message: whyUnreachable[facts.why] };
  const responseTimeMs = facts.roundTripMs;
  if (facts.missing.length > 0) {
    const more = facts.missing.length > 3 ? ` and ${facts.missing.length - 3} more` : '';
    return {
      status: 'major_outage',
      message: `missing: ${facts.missing.slice(0, 3).join(', ')}${more}`,
      responseTimeMs,
    };
  }
  if (facts.roundTripMs > queueSlowMs) {
    return {
      status: 'degraded_performance',
      message: `slow: it took ${(facts.roundTripMs / 1000).toFixed(1)} s to answer`,
      responseTimeMs,
    };
  }
  return { status: 'operational', message: 'it answers', responseTimeMs };
}

const whyUnreachable = {
  'no connection': 'there is no connection to NATS',
  'no answer': 'NATS does not answer in time',
  'no JetStream': 'JetStream is not available on the NATS server',
} as const satisfies Record<(QueueFacts & { kind: 'unreachable' })['why'], string>;

const storageSlowMs = 2000;

/**
 * The file store. A test file that could not be written or read back is an outage once it happens twice in a row;
 * whatever else is wrong leaves captures possible. Null before the first test.
 */
export function decideStorage(facts: StorageFacts | null): Verdict | null {
  if (facts === null) return null;
  if (facts.kind === 'works') {
    const responseTimeMs = facts.ms;
    return facts.ms <= storageSlowMs
      ? { status: 'operational', message: 'files are written and read', responseTimeMs }
      : {
          status: 'degraded_performance',
          message: `slow: a test file took ${(facts.ms / 1000).toFixed(1)} s`,
          responseTimeMs,
        };
  }
  const problem = facts.late ? `${deeds[facts.step]} takes too long` : `${deeds[facts.step]} fails`;
  const harmless = facts.step === 'remove' || facts.failures < 2;
  return { status: harmless ? 'degraded_performance' : 'major_outage', message: problem };
}

const deeds = {
  write: 'writing a test file',
  read: 'reading a test file back',
  remove: 'removing a test file',
} as const;

/**
 * The engine as a whole: down when every region is, partly down when any region is in an outage, else as the worst of
 * its regions. Its response time is that of the slowest region.
 */
export function decideEngine(regions: Readonly<Partial<Record<Region, Verdict>>>): Verdict {
  const named = Object.entries(regions);
  const verdicts = named.map(([, verdict]) => verdict);
  const down = verdicts.filter(({ status }) => status === 'major_outage').length;
  const worst = worstStatus(verdicts.map(({ status }) => status));
  const status = worst !== 'major_outage' || down === verdicts.length ? worst : 'partial_outage';
  const times = verdicts.flatMap(({ responseTimeMs }) => responseTimeMs ?? []);
  return {
    status,
    message:
      status === 'operational'
        ? `${verdicts.length} of ${verdicts.length} regions operational`
        : reasonsOf(named.map(([region, verdict]) => ({ ...verdict, message: `${region}: ${verdict.message}` }))),
    ...(times.length === 0 ? {} : { responseTimeMs: Math.max(...times) }),
  };
}
