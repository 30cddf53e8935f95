import { ServiceError } from '../errors/service-error.ts';
import { bounded } from './bounded.ts';
import { isLocalName, loopbackAddresses, parseHost } from './host.ts';
import { createJudge, type Verdict } from './judge.ts';
import { createSystemLookup, type Lookup, type ResolvedAddress } from './lookup.ts';
import { refusedPorts } from './ports.ts';

export interface EgressPolicyOptions {
  /** CIDR blocks opened by the operator beside the public internet. */
  readonly allow: readonly string[];
  /** CIDR blocks closed by the operator, whatever else holds: a cluster that uses public addresses inside. */
  readonly deny?: readonly string[];
  /** Ports refused; by default {@link refusedPorts}. */
  readonly refusedPorts?: readonly number[];
  /** How names become addresses; by default the system's hosts file and name servers. */
  readonly lookup?: Lookup;
}

interface ResolveOptions {
  readonly signal?: AbortSignal;
  /** By default 5,000. */
  readonly timeoutMs?: number;
  readonly lookup?: Lookup;
}

/** Where captures and webhooks may go. */
export interface EgressPolicy {
  /**
   * Refuses what can be refused without a resolver: schemes but http and https, ports that are not the web's, IP
   * addresses outside of the open ranges, names of this machine, hosts that are none. It does no I/O; a name that
   * passes must still go through {@link EgressPolicy.resolve}.
   *
   * @throws ServiceError URL_BLOCKED
   */
  checkLiteral(url: URL): void;
  /** Whether connections may go to an address (a resolver's form, without brackets), and why not. */
  checkAddress(address: string): Verdict;
  /** Whether connections may go to a port. */
  allowsPort(port: number): boolean;
  /**
   * The addresses of a host, in the order in which to try them; the caller connects to one of them and must not
   * resolve again. One refused address refuses the name: an honest site does not mix public and private ones, and a
   * name that does is most likely an attack under way. Local names mean loopback and are not looked up.
   *
   * @throws ServiceError URL_BLOCKED when it is refused, NAVIGATION_FAILED when the name has no address or the
   *   resolver does not answer in time
   */
  resolve(hostname: string, options?: ResolveOptions): Promise<readonly ResolvedAddress[]>;
}

/**
 * Builds the policy.
 *
 * @throws Error naming the entry of `allow` or `deny` that is not a CIDR block
 */
export function createEgressPolicy(options: EgressPolicyOptions): EgressPolicy {
  const judge = createJudge(options.allow, options.deny ?? []);
  const ports = new Set(options.refusedPorts ?? refusedPorts);
  const systemLookup = options.lookup ?? createSystemLookup();

  const openLoopback = (name: string): readonly ResolvedAddress[] => {
    const open = loopbackAddresses.filter(({ address }) => judge(address).allowed);
    if (open.length === 0) throw blocked(`"${name}" is the machine that renders.`);
    return open;
  };

  const requireOpen = (address: string): void => {
    const verdict = judge(address);
    if (!verdict.allowed) throw blocked(`${address} is ${verdict.reason}.`);
  };

  return {
    checkAddress: judge,

    allowsPort: (port) => !ports.has(port),

    checkLiteral(url) {
      if (url.protocol !== 'http:' && url.protocol !== 'https:') {
        throw blocked(`Only http and https addresses are captured, not ${url.protocol}`);
      }
      if (url.port !== '' && ports.has(Number(url.port))) throw blocked(`Port ${url.port} is not a port of the web.`);
      const host = parseHost(url.hostname);
      if (host === undefined) throw blocked('The host of the address is not a valid name or IP address.');
      if (host.kind === 'address') requireOpen(host.address);
      else if (isLocalName(host.name)) openLoopback(host.name);
    },

    async resolve(hostname, { signal, timeoutMs = 5000, lookup = systemLookup } = {}) {
      const host = parseHost(hostname);
      if (host === undefined) throw blocked('The host of the address is not a valid name or IP address.');
      if (host.kind === 'address') {
        requireOpen(host.address);
        return [{ address: host.address, family: host.address.includes(':') ? 6 : 4 }];
      }
      if (isLocalName(host.name)) return openLoopback(host.name);

      const addresses = await lookUp(host.name, lookup, timeoutMs, signal);
      for (const { address } of addresses) {
        const verdict = judge(address);
        if (verdict.allowed) continue;
        // The client learns that it is refused, not what the inside of the network looks like.
        throw blocked(`The name "${host.name}" leads to an address that is not open to captures.`, {
          cause: new Error(`${host.name} resolves to ${address}: ${verdict.reason}`),
        });
      }
      return addresses;
    },
  };
}

async function lookUp(
  name: string,
  lookup: Lookup,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<readonly ResolvedAddress[]> {
  try {
    const addresses = await bounded((inner) => lookup(name, inner), timeoutMs, signal);
    if (addresses.length > 0) return addresses;
  } catch (cause) {
    throw new ServiceError('NAVIGATION_FAILED', `The name "${name}" could not be resolved.`, { cause });
  }
  throw new ServiceError('NAVIGATION_FAILED', `The name "${name}" has no address.`);
}

function blocked(what: string, options?: { cause: unknown }): ServiceError {
  return new ServiceError(
    'URL_BLOCKED',
    `The address is refused by the egress policy of this service. ${what}`,
    options,
  );
}
