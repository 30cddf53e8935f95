import { heartbeatIntervalMs, parseHeldJob } from '@webcapture/shared/queue/heartbeat.ts';
import { regions as allRegions, type Region } from '@webcapture/shared/runtime/regions.ts';
import { delay } from '@webcapture/shared/runtime/deadline.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { prefixed, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Fleet, ReplacedRenderer, SilentRenderer } from '@webcapture/shared/queue/fleet.ts';
import { sendSignal } from '@webcapture/shared/queue/jobs.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ControllerMetrics } from '../health/metrics.ts';
import type { Term } from '../leader/election.ts';

/** Interval at which the leader looks for silent renderers. */
export const deadRenderersIntervalMs = 250;

/** Duration of a stall of this process after which pending heartbeats are read before renderers are declared dead. */
const maxStallMs = 1500;

/** Time before a renderer's silence in which it must have reported a job for the job to count as held. */
const reportedMs = 2 * heartbeatIntervalMs;

/** Maximum number of reported jobs of a renderer, which bounds the memory that its reports can use. */
const maxReportedPerRenderer = 1000;
const maxRenderers = 20_000;

const handBackTimeoutMs = 1000;

/** Delay before renderers are told about a job that was handed back. The server queues it for redelivery within 10 ms. */
const redeliveryMs = 100;

export interface DeadRenderersDeps {
  readonly session: NatsSession;
  readonly fleet: Fleet;
  /** False shortly after a reconnection, when heartbeats have not arrived yet. */
  readonly isFleetKnown: () => boolean;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
  /** A monotonic clock. */
  readonly now?: () => number;
}

interface LostJob {
  readonly region: Region;
  readonly pod: string;
  /** The job as `heldJobText` formats it. */
  readonly text: string;
}

/**
 * Hands the jobs of a renderer back to the queue if the renderer is silent, or if its pod runs another process now. Other renderers then get
 * the jobs within seconds. The server itself waits much longer, because a consumer may have no leader for many seconds. If the renderer was
 * only slow, its work is wasted: only one of two results for a capture counts.
 */
export class DeadRenderers {
  readonly #deps: DeadRenderersDeps;
  readonly #now: () => number;
  /** Jobs that renderers reported, with the time of the report, by region and pod. */
  readonly #reported = new Map<string, Map<string, number>>();
  /** Deliveries that were handed back. If one were handed back twice, the renderer that has the job now would lose it. */
  readonly #handedBack = new Map<string, number>();
  readonly #stopListening: () => void;
  #suspects = new Set<string>();
  #lookedAt = -Infinity;

  constructor(deps: DeadRenderersDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => performance.now());
    const subscription = deps.session.nc.subscribe(prefixed('held.*.*'), {
      callback: (error, message) => {
        if (error === null) this.#onMessage(message.subject, message.string());
      },
    });
    this.#stopListening = () => subscription.unsubscribe();
  }

  close(): void {
    this.#stopListening();
  }

  /** Checks all renderers once. A renderer is dead if it was silent at two consecutive checks, or if another process has its name. */
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
    await Promise.all(lost.map((job) => this.#handBack(job, term)));
  }

  #onMessage(subject: string, text: string): void {
    const name = subject.slice(subject.indexOf('.') + 1);
    if (parseHeldJob(text) === null || !allRegions.some((region) => name.startsWith(`${region}.`))) return;
    const now = this.#now();
    let jobs = this.#reported.get(name);
    if (jobs === undefined) {
      if (this.#reported.size >= maxRenderers) return;
      this.#reported.set(name, (jobs = new Map()));
    }
    // The jobs are ordered by time, with the oldest first.
    for (const [job, at] of jobs) {
      if (now - at <= maxSilenceMs && jobs.size < maxReportedPerRenderer) break;
      jobs.delete(job);
    }
    jobs.set(text, now);
  }

  /** Returns the reported jobs of a dead renderer that were not handed back yet. */
  #jobsOf(renderer: SilentRenderer | ReplacedRenderer, now: number): LostJob[] {
    const { region, pod, jobs, forMs } = renderer;
    const successorForMs = 'successorForMs' in renderer ? renderer.successorForMs : null;
    const reported = [...(this.#reported.get(nameOf(renderer)) ?? [])].filter(
      ([, at]) => now - at <= forMs + reportedMs && now - at >= (successorForMs ?? 0),
    );
    if (successorForMs === null) this.#reported.delete(nameOf(renderer));
    for (const [job, at] of this.#handedBack) if (now - at > forgetMs) this.#handedBack.delete(job);
    return [...new Set([...jobs, ...reported.map(([text]) => text)])]
      .filter((text) => !this.#handedBack.has(`${region}/${text}`))
      .map((text) => ({ region, text, pod }));
  }

  /**
   * Rejects the delivery (NAK), so that the server delivers the job again. The server confirms that. If it does not answer because it has
   * no leader, the next check retries.
   */
  async #handBack({ region, text, pod }: LostJob, term: Pick<Term, 'holds'>): Promise<void> {
    const { session, metrics, log } = this.#deps;
    const job = parseHeldJob(text);
    const name = `${region}/${text}`;
    if (job === null || !term.holds()) return;
    const { queue, delivery, sequence, consumerSequence } = job;
    const subject = `$JS.ACK.${streamNames.captures}.${region}-${queue}.${delivery}.${sequence}.${consumerSequence}.0.0`;
    this.#handedBack.set(name, this.#now());
    try {
      await session.nc.request(subject, '-NAK {"delay":1000000}', { timeout: handBackTimeoutMs });
      metrics.handedBackJobs.inc();
      // Renderers pull from a shard only after a signal.
      const shard = /^background-(\d)$/.exec(queue)?.[1];
      log.warn({ region, pod, queue, delivery }, 'handed a job of a dead renderer back to the queue');
      if (shard === undefined) return;
      await delay(redeliveryMs);
      sendSignal(session, region, { shards: [Number(shard)] });
    } catch (error) {
      this.#handedBack.delete(name);
      log.debug(
        { err: error, region, pod, queue },
        'handing a job of a dead renderer back to the queue failed; retrying',
      );
    }
  }
}

/** Maximum silence of a renderer whose jobs are remembered. It is longer than the silence after which its jobs are handed back. */
const maxSilenceMs = 15_000;

/** Time for which a delivery of a dead renderer may still appear in its reports. */
const forgetMs = 30 * 60_000;

const nameOf = ({ region, pod }: { readonly region: Region; readonly pod: string }) => `${region}.${pod}`;
