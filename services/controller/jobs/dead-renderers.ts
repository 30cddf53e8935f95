import { heartbeatIntervalMs, parseHeldJob } from '@webcapture/shared/queue/heartbeat.ts';
import { regions as allRegions, type Region } from '@webcapture/shared/runtime/regions.ts';
import { delay } from '@webcapture/shared/runtime/deadline.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Fleet, ReplacedRenderer, SilentRenderer } from '@webcapture/shared/queue/fleet.ts';
import { sendSignal } from '@webcapture/shared/queue/jobs.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ControllerMetrics } from '../health/metrics.ts';
import type { Term } from '../leader/election.ts';

/** How often the leader looks for renderers that have fallen silent. */
export const deadRenderersIntervalMs = 250;

/** A leader that was held up itself has heartbeats waiting to be read: it judges nobody before it has read them. */
const maxStallMs = 1500;

/** Jobs that a renderer has reported since its last heartbeat, and the moment before. */
const reportedMs = 2 * heartbeatIntervalMs;

/** What renderers report must not fill the memory. */
const maxReportedPerRenderer = 1000;
const maxRenderers = 20_000;

const returnTimeoutMs = 1000;

/** The server looks for what it has to deliver again 10 ms after a job was returned. */
const redeliveryMs = 100;

export interface DeadRenderersDeps {
  readonly session: NatsSession;
  readonly fleet: Pick<Fleet, 'silent' | 'replaced'>;
  /** Whether heartbeats can have been heard for a while: after a reconnection they cannot. */
  readonly isFleetKnown: () => boolean;
  readonly metrics: Pick<ControllerMetrics, 'returnedJobs'>;
  readonly log: Logger;
  /** A monotonic clock. */
  readonly now?: () => number;
}

interface LostJob {
  readonly region: Region;
  readonly pod: string;
  /** As `heldJobText` writes it. */
  readonly text: string;
}

/**
 * Returns the jobs of renderers that have fallen silent, or whose pod has another process by now, to the queue, so that
 * others get them within seconds: the server itself waits for much longer, since a consumer may be without a leader for many
 * seconds. A renderer that was only slow loses nothing but work: of two results for a capture one counts.
 */
export class DeadRenderers {
  readonly #deps: DeadRenderersDeps;
  readonly #now: () => number;
  /** By region and pod: jobs that renderers have reported, each with the time. */
  readonly #reported = new Map<string, Map<string, number>>();
  /** Deliveries that were returned: doing so twice would take the job from whoever has it next. */
  readonly #returned = new Map<string, number>();
  readonly #stopListening: () => void;
  #suspects = new Set<string>();
  #lookedAt = -Infinity;

  constructor(deps: DeadRenderersDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => performance.now());
    const subscription = deps.session.nc.subscribe('held.*.*', {
      callback: (error, message) => {
        if (error === null) this.#onMessage(message.subject, message.string());
      },
    });
    this.#stopListening = () => subscription.unsubscribe();
  }

  close(): void {
    this.#stopListening();
  }

  /** Looks once. A renderer is dead when it was silent at two looks in a row, or has a successor under its name. */
  async look(term: Pick<Term, 'holds'>): Promise<void> {
    const { fleet, isFleetKnown } = this.#deps;
    const now = this.#now();
    const wasHeldUp = now - this.#lookedAt > maxStallMs;
    this.#lookedAt = now;
    if (wasHeldUp || !isFleetKnown()) {
      this.#suspects.clear();
      return;
    }
    const silent = fleet.silent();
    const dead = silent.filter((renderer) => this.#suspects.has(nameOf(renderer)));
    this.#suspects = new Set(silent.map(nameOf));
    const lost = [...fleet.replaced(), ...dead].flatMap((renderer) => this.#jobsOf(renderer, now));
    await Promise.all(lost.map((job) => this.#return(job, term)));
  }

  #onMessage(subject: string, text: string): void {
    const name = subject.slice('held.'.length);
    if (parseHeldJob(text) === null || !allRegions.some((region) => name.startsWith(`${region}.`))) return;
    const now = this.#now();
    let jobs = this.#reported.get(name);
    if (jobs === undefined) {
      if (this.#reported.size >= maxRenderers) return;
      this.#reported.set(name, (jobs = new Map()));
    }
    // In the order of their times: the first ones are the oldest.
    for (const [job, at] of jobs) {
      if (now - at <= maxSilenceMs && jobs.size < maxReportedPerRenderer) break;
      jobs.delete(job);
    }
    jobs.set(text, now);
  }

  /** Jobs that a dead renderer held, as far as it reported them, without those that have been returned. */
  #jobsOf(renderer: SilentRenderer | ReplacedRenderer, now: number): LostJob[] {
    const { region, pod, jobs = [], forMs } = renderer;
    const successorForMs = 'successorForMs' in renderer ? renderer.successorForMs : null;
    const reported = [...(this.#reported.get(nameOf(renderer)) ?? [])].filter(
      ([, at]) => now - at <= forMs + reportedMs && now - at >= (successorForMs ?? 0),
    );
    if (successorForMs === null) this.#reported.delete(nameOf(renderer));
    for (const [job, at] of this.#returned) if (now - at > forgetMs) this.#returned.delete(job);
    return [...new Set([...jobs, ...reported.map(([text]) => text)])]
      .filter((text) => !this.#returned.has(`${region}/${text}`))
      .map((text) => ({ region, text, pod }));
  }

  /** The server answers when it has done so; without an answer (no leader) the next look tries again. */
  async #return({ region, text, pod }: LostJob, term: Pick<Term, 'holds'>): Promise<void> {
    const { session, metrics, log } = this.#deps;
    const job = parseHeldJob(text);
    const name = `${region}/${text}`;
    if (job === null || !term.holds()) return;
    const { queue, delivery, sequence, consumerSequence } = job;
    const subject = `$JS.ACK.${streamNames.captures}.${region}-${queue}.${delivery}.${sequence}.${consumerSequence}.0.0`;
    this.#returned.set(name, this.#now());
    try {
      await session.nc.request(subject, '-NAK {"delay":1000000}', { timeout: returnTimeoutMs });
      metrics.returnedJobs.inc();
      // Renderers ask only where they hear that something waits.
      const shard = /^background-(\d)$/.exec(queue)?.[1];
      log.warn({ region, pod, queue, delivery }, 'returned a job of a dead renderer to the queue');
      if (shard === undefined) return;
      await delay(redeliveryMs);
      sendSignal(session, region, { shards: [Number(shard)] });
    } catch (error) {
      this.#returned.delete(name);
      log.debug({ err: error, region, pod, queue }, 'returning a job of a dead renderer to the queue failed; retrying');
    }
  }
}

/** Longer than a renderer is silent before its jobs are returned. */
const maxSilenceMs = 15_000;

/** For so long a delivery may still be in the reports of a renderer that is dead. */
const forgetMs = 30 * 60_000;

const nameOf = ({ region, pod }: { readonly region: Region; readonly pod: string }) => `${region}.${pod}`;
