import type { Socket } from 'node:net';
import { connect } from './connect.ts';
import type { Lookup, ResolvedAddress } from './lookup.ts';
import { EgressFailure, type EgressPolicy } from './policy.ts';
import { isThisMachine } from './this-machine.ts';
import type { Upstream } from './upstream.ts';
import { isWithoutProxy } from './upstream-config.ts';

/** How connections to a host are made: to its checked addresses, or through the upstream proxy. */
export interface Route {
  /** Checked addresses; empty if the upstream proxy resolves the name. */
  readonly addresses: readonly ResolvedAddress[];
  /** Hosts that are sent to the upstream proxy: either addresses or one name. Undefined for a direct connection. */
  readonly hosts?: readonly string[];
}

/** The egress of this service: the policy for its targets, and the upstream proxy if there is one. */
export interface Egress {
  readonly policy: EgressPolicy;
  readonly upstream?: Upstream | undefined;
}

interface RouteOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
  readonly lookup?: Lookup;
}

/**
 * Checks a host, and returns the route to it. Addresses and names of this machine are checked in all cases. A name is resolved and checked
 * unless the upstream proxy resolves it.
 *
 * @throws ServiceError as {@link EgressPolicy.resolve}
 */
export async function routeTo(hostname: string, { policy, upstream }: Egress, options: RouteOptions): Promise<Route> {
  if (upstream === undefined) return { addresses: await policy.resolve(hostname, options) };
  const { resolve, noProxy } = upstream.proxy;
  const name = policy.checkHost(hostname);
  const isDirectName = name !== undefined && isWithoutProxy(noProxy, name);
  if (name !== undefined && resolve === 'proxy' && !isDirectName) return { addresses: [], hosts: [name] };

  const addresses = await policy.resolve(hostname, options);
  const texts = addresses.map(({ address }) => address);
  // For the upstream proxy, an address of this machine would mean the proxy's own machine.
  const isDirect = isDirectName || texts.every((text) => isWithoutProxy(noProxy, text)) || texts.some(isThisMachine);
  return isDirect ? { addresses } : { addresses, hosts: texts };
}

/**
 * Connects along a route. The upstream proxy itself is never a target.
 *
 * @throws EgressFailure
 */
export async function connectAlong(
  { addresses, hosts }: Route,
  port: number,
  upstream: Upstream | undefined,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Socket> {
  if (upstream === undefined) return connect(addresses, port, timeoutMs, signal);
  const targets = hosts ?? addresses.map(({ address }) => address);
  if (await upstream.isItself(targets, port, timeoutMs, signal)) {
    throw new EgressFailure('blocked', 'the upstream proxy itself');
  }
  return hosts === undefined
    ? connect(addresses, port, timeoutMs, signal)
    : upstream.connect(hosts, port, timeoutMs, signal);
}
