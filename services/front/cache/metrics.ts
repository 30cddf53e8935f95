import { Counter, type Registry } from 'prom-client';

/** How a request that may be answered from the cache was answered: from it, after an equal capture, or by rendering. */
export type CacheResult = 'hit' | 'followed' | 'miss';

const results = ['hit', 'followed', 'miss'] as const satisfies readonly CacheResult[];

/** Counts requests with `responseCache.enabled`. */
export function createCacheMetrics(registry: Registry): (result: CacheResult) => void {
  const requests = new Counter({
    name: 'webcapture_front_cache_requests_total',
    help: 'Requests with responseCache: hit (answered from the cache), followed (after an equal capture under way), miss.',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of results) requests.inc({ result }, 0);
  return (result) => requests.inc({ result });
}
