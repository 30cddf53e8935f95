import { afterEach } from 'vitest';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import type { ProxySession } from '../../../services/renderer/egress/proxy.ts';
import type { EgressLimits } from '../../../services/renderer/egress/counters.ts';
import { startEgressProxy, type EgressProxy } from '../../../services/renderer/egress/proxy.ts';
import { innerAddress, publicAddress, startSite, startTcp } from './sites.ts';

/** Error of a proxy client whose connection ends without a complete response. */
export const networkError = /socket hang up|ECONNRESET|aborted/;

/** Resolves every name to the public address, with some exceptions. */
export const lookup: Lookup = async (name) => {
  if (name.startsWith('inner.')) return [{ address: innerAddress, family: 4 }];
  if (name.startsWith('nowhere.')) throw new Error('no such name');
  return [{ address: publicAddress, family: 4 }];
};

/** Resolves to several addresses, of which the first does not respond. */
export const several: Lookup = async () => [
  { address: '127.0.0.3', family: 4 },
  { address: publicAddress, family: 4 },
];

interface ProxyChanges {
  /** Allowed addresses. Default: the public address. */
  readonly allow?: readonly string[];
  readonly lookup?: Lookup;
  readonly limits?: Partial<EgressLimits>;
}

/** Gives the tests of a file proxy sessions and servers, which are closed after each test. */
export function useSessions() {
  const cleanUps: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
  });
  /** Clean-ups run in reverse order. */
  const onEnd = (cleanUp: () => Promise<void> | void) => void cleanUps.push(cleanUp);
  const closing = async <T extends { close(): Promise<void> }>(started: Promise<T>): Promise<T> => {
    const it = await started;
    onEnd(() => it.close());
    return it;
  };
  const site: typeof startSite = (...args) => closing(startSite(...args));
  const tcp: typeof startTcp = (...args) => closing(startTcp(...args));
  const openProxy = (changes: ProxyChanges = {}): Promise<EgressProxy> => {
    const { limits = {}, ...rules } = changes;
    const policy = createEgressPolicy({ allow: [`${publicAddress}/32`], lookup, ...rules });
    return closing(startEgressProxy({ policy, log: { debug: () => undefined }, limits }));
  };
  const openSession = async (changes: ProxyChanges = {}): Promise<ProxySession> =>
    (await openProxy(changes)).openSession();
  return { site, tcp, closing, openProxy, openSession, onEnd };
}
