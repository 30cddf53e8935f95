import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { watchKeys } from '@webcapture/shared/nats/watch.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { RegionInClusters } from '../gather/facts.ts';
import { clusterKeys, clusterWordFreshMs, type ClusterWord } from './cluster-word.ts';
import { wantedWindowMs } from './least-wanted.ts';

/** For how long a cluster that fell silent is spoken of. */
const memoryMs = 15 * 60_000;

/** How long it may take after a start until a first word is heard. */
const patienceMs = 15_000;

/** A watch that has brought nothing for so long has died. */
const maxSilenceMs = 3500;

interface Heard {
  readonly word: ClusterWord;
  readonly at: number;
}

/** What all clusters of the fleet said last, kept in memory. Freshness is judged on this process's own clock. */
export class Clusters {
  readonly #heard = new Map<string, Heard>();
  readonly #expected: boolean;
  readonly #now: () => number;
  readonly #startedAt: number;

  /** `expected`: this controller has a cluster, so that it is odd when none speaks at all. */
  constructor(expected: boolean, now: () => number = () => performance.now()) {
    this.#expected = expected;
    this.#now = now;
    this.#startedAt = now();
  }

  async follow(session: NatsSession, deps: { log: Logger; signal: AbortSignal }): Promise<void> {
    await watchKeys<ClusterWord>(
      session,
      { bucket: 'live', filter: clusterKeys, maxSilenceMs, ...deps },
      { reset: () => undefined, change: ({ key, value }) => this.hear(key, value) },
    );
  }

  /** Takes in a word. One that has expired stays remembered as the last. */
  hear(key: string, word: ClusterWord | null): void {
    // A watch that starts again tells the last word once more, which is no news.
    if (word === null || this.#heard.get(key)?.word.at === word.at) return;
    this.#heard.set(key, { word, at: this.#now() });
  }

  /** What they say of a region; null when none has spoken of it for long. */
  of(region: Region): RegionInClusters | null {
    const now = this.#now();
    for (const [key, { at }] of this.#heard) if (now - at > memoryMs) this.#heard.delete(key);
    const words = [...this.#heard.values()].flatMap(({ word, at }) => {
      const said = word.regions[region];
      return said === undefined ? [] : [{ said, ageMs: now - at }];
    });
    if (words.length === 0) return this.#nothing();
    const fresh = words.filter(({ ageMs }) => ageMs <= clusterWordFreshMs);
    // What was asked for within the window counts, whether or not its cluster can be heard now.
    const counting = words.filter(({ ageMs }) => ageMs <= wantedWindowMs);
    const wanted = counting.flatMap(({ said }) => said.wanted ?? []);
    return {
      wanted: wanted.length === 0 ? null : wanted.reduce((sum, number) => sum + number, 0),
      pods: fresh.flatMap(({ said }) => said.pods),
      missing: fresh.flatMap(({ said }) => said.missing),
      silentForMs: fresh.length === words.length ? null : Math.max(...words.map(({ ageMs }) => ageMs)),
    };
  }

  #nothing(): RegionInClusters | null {
    const silentForMs = this.#now() - this.#startedAt;
    if (!this.#expected || this.#heard.size > 0 || silentForMs < patienceMs) return null;
    return { wanted: null, pods: [], missing: [], silentForMs };
  }
}
