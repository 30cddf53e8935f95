import { isIP } from 'node:net';
import type ipaddr from 'ipaddr.js';
import { withTimeout } from '../runtime/deadline.ts';
import type { EnvReader } from '../runtime/env.ts';
import { ServiceError } from '../runtime/errors.ts';
import { parsedVariable } from '../runtime/variables.ts';
import { type Address, holds, metadataAddresses, parseCidrs, rangeOf } from './address-range.ts';
import { createSystemLookup, type Lookup, type ResolvedAddress } from './lookup.ts';
import { isOfInterface } from './this-machine.ts';

/** Reasons why a host could not be reached or did not answer, for requests of pages and for webhooks. */
export type EgressFailureKind =
  /** The policy refuses the host, one of its addresses, or the port. */
  | 'blocked'
  /** The name has no address, or the name servers do not answer. */
  | 'unresolved'
  /** All addresses of the host refused the connection or were unreachable. */
  | 'unreachable'
  /** No address of the host answered in time. */
  | 'connect-timeout'
  /** The connection was open, but the response did not start in time. */
  | 'response-timeout'
  /** The upstream proxy of the operator's network cannot be reached, or does not answer as a proxy. */
  | 'upstream-unreachable'
  /** The upstream proxy refuses the credentials. */
  | 'upstream-authentication'
  /** The upstream proxy refuses the host. */
  | 'upstream-refused'
  /** The upstream proxy did not open the connection in time. */
  | 'upstream-timeout'
  /** The proxy session has reached a limit of its connections or bytes. */
  | 'limit'
  /** The proxy session is closed. */
  | 'closed';

export class EgressFailure extends Error {
  readonly kind: EgressFailureKind;

  constructor(kind: EgressFailureKind, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = 'EgressFailure';
    this.kind = kind;
  }
}

/**
 * Ports on which no web page is served. The first list is that of the Fetch standard ("bad port"), which browsers use. The second list
 * contains ports of servers that accept text or binary commands and could interpret the bytes of a request.
 */
const fetchBadPorts = [
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

const commandPorts = [445, 873, 1433, 1521, 2181, 3306, 3389, 4222, 5432, 5672, 6222, 6379, 9042, 9092, 11_211, 27_017];

const refusedPorts: ReadonlySet<number> = new Set([...fetchBadPorts, ...commandPorts]);

/** A host as in an address bar: an IP address in canonical form, or a name in lower case without a trailing dot. */
export type Host =
  { readonly kind: 'address'; readonly address: string } | { readonly kind: 'name'; readonly name: string };

/**
 * Parses a host like a browser does. A host must not mean one thing to this function and another to the program that connects: `0x7f.1`,
 * `2130706433`, `127。0。0。1`, `[::ffff:7f00:1]` and `127.0.0.1.` are addresses, not names.
 *
 * @param text without port; IPv6 with or without brackets
 * @returns undefined for an invalid host: empty labels, zone ids, a number that is not an address, user info, a port
 */
export function parseHost(text: string): Host | undefined {
  // Characters that the URL parser strips, or treats as the end of the host, must not reach it.
  if (/[\s\p{Cc}/?#@\\]/u.test(text)) return undefined;
  const bracketed = isIP(text) === 6 ? `[${text}]` : text;
  if (!bracketed.startsWith('[') && bracketed.includes(':')) return undefined;
  if (bracketed.startsWith('[') && !bracketed.endsWith(']')) return undefined;

  // URL.canParse is not used, because it accepts hosts of tens of thousands of characters that the constructor rejects (Node.js 24).
  const hostname = URL.parse(`http://${bracketed}/`)?.hostname;
  if (hostname === undefined) return undefined;
  if (hostname.startsWith('[')) return { kind: 'address', address: hostname.slice(1, -1) };
  if (isIP(hostname) === 4) return { kind: 'address', address: hostname };

  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  return isName(name) ? { kind: 'name', name } : undefined;
}

function isName(name: string): boolean {
  const labels = name.split('.');
  // A resolver may interpret a numeric last label as an address in an old notation.
  if (/^(\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? '')) return false;
  return name.length <= 253 && labels.every((label) => label.length >= 1 && label.length <= 63);
}

const localNames = new Set([
  'localhost',
  'localhost4',
  'localhost6',
  'localhost.localdomain',
  'localhost4.localdomain4',
  'localhost6.localdomain6',
  'ip6-localhost',
  'ip6-loopback',
]);

/**
 * Returns whether a name means this machine, whatever a resolver returns: RFC 6761 for `localhost` and its subdomains, and the names in the
 * hosts files of common systems.
 */
function isLocalName(name: string): boolean {
  return localNames.has(name) || name.endsWith('.localhost');
}

/** Addresses of local names. They are not looked up in DNS. */
const loopbackAddresses = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
] as const;

/** Whether an address is allowed; `reason` continues the sentence "10.0.0.1 is …". */
type Verdict = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

const open: Verdict = { allowed: true };
const refused = (reason: string): Verdict => ({ allowed: false, reason });

/**
 * Creates the function that checks addresses. Global unicast addresses and the operator's allowed ranges are allowed; denied ranges
 * override allowed ones.
 *
 * An IPv6 address of this machine is refused unless a range allows it, because servers of this machine listen on it and cannot distinguish
 * pages from operators.
 *
 * An address that a translator (such as NAT64) would forward to an IPv4 address is refused. If the operator has allowed its block, the IPv4
 * address inside must be allowed as well.
 *
 * @throws Error naming the entry that is not a CIDR block
 */
function createJudge({ allow, deny = [], isOwn = isOfInterface }: EgressPolicyOptions): (address: string) => Verdict {
  const opened = parseCidrs(allow);
  const closed = parseCidrs(deny);
  const metadata = new Set(metadataAddresses.map((address) => rangeOf(address)?.address.toString()));

  const judge = (address: Address, range: string, embedded: ipaddr.IPv4 | undefined): Verdict => {
    if (closed.some((block) => holds(block, address))) return refused('closed by the operator of this service');
    const blocks = opened.filter((block) => holds(block, address));
    if (metadata.has(address.toString())) {
      const bits = address.kind() === 'ipv4' ? 32 : 128;
      return blocks.some(({ prefix }) => prefix === bits) ? open : refused('a metadata address of a cloud');
    }
    if (blocks.length > 0) return embedded === undefined ? open : judgeText(embedded.toString());
    if (range !== 'unicast') return refused(`not on the public internet (${range})`);
    return address.kind() === 'ipv6' && isOwn(address.toString()) ? refused('the machine that renders') : open;
  };

  const judgeText = (text: string): Verdict => {
    const known = rangeOf(text);
    return known === undefined ? refused('not an IP address') : judge(known.address, known.range, known.embedded);
  };

  return judgeText;
}

export interface EgressPolicyOptions {
  /** CIDR blocks that the operator allows in addition to the public internet. */
  readonly allow: readonly string[];
  /** CIDR blocks that the operator denies; they override all other rules. Needed for clusters that use public addresses internally. */
  readonly deny?: readonly string[];
  /** Whether this machine has an address; by default by its network interfaces. */
  readonly isOwn?: (address: string) => boolean;
  /** Resolves names; by default with the system's hosts file and name servers. */
  readonly lookup?: Lookup;
}

interface ResolveOptions {
  readonly signal?: AbortSignal;
  /** Timeout of a look-up; by default 5,000 ms. */
  readonly timeoutMs?: number;
  readonly lookup?: Lookup;
}

/** Destinations that captures and webhooks may reach. */
export interface EgressPolicy {
  /**
   * Refuses URLs that can be refused without a resolver: schemes other than http and https, ports other than those of the web, IP addresses
   * that are not allowed, names of this machine, and invalid hosts. Does no I/O. If the host is a name, it must also be checked by {@link
   * EgressPolicy.resolve}.
   *
   * @throws ServiceError URL_BLOCKED
   */
  checkLiteral(url: URL): void;
  /** Whether connections to an address (in a resolver's form, without brackets) are allowed; if not, with the reason. */
  checkAddress(address: string): Verdict;
  /** Whether connections to a port are allowed. */
  allowsPort(port: number): boolean;
  /**
   * Refuses hosts like {@link EgressPolicy.checkLiteral}. Returns the name if it must be resolved, and undefined for IP addresses and names of
   * this machine.
   *
   * @throws ServiceError URL_BLOCKED
   */
  checkHost(hostname: string): string | undefined;
  /**
   * Returns the addresses of a host, in the order in which to try them. The caller connects to one of them and must not resolve the name
   * again. If one address is refused, the name is refused: legitimate sites do not mix public and private addresses, so the name is
   * probably part of an attack. Local names resolve to loopback without a look-up.
   *
   * @throws ServiceError URL_BLOCKED if it is refused, NAVIGATION_FAILED if the name has no address or the resolver does not answer in time
   */
  resolve(hostname: string, options?: ResolveOptions): Promise<readonly ResolvedAddress[]>;
}

/**
 * Creates the policy.
 *
 * @throws Error naming the entry of `allow` or `deny` that is not a CIDR block
 */
export function createEgressPolicy(options: EgressPolicyOptions): EgressPolicy {
  const judge = createJudge(options);
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

  const checkHost = (hostname: string): string | undefined => {
    const host = parseHost(hostname);
    if (host === undefined) throw blocked('The host of the address is not a valid name or IP address.');
    if (host.kind === 'address') requireOpen(host.address);
    else if (!isLocalName(host.name)) return host.name;
    else openLoopback(host.name);
    return undefined;
  };

  return {
    checkAddress: judge,

    allowsPort: (port) => !refusedPorts.has(port),

    checkLiteral(url) {
      if (url.protocol !== 'http:' && url.protocol !== 'https:') {
        throw blocked(`Only http and https addresses are captured, not ${url.protocol}`);
      }
      if (url.port !== '' && refusedPorts.has(Number(url.port)))
        throw blocked(`Port ${url.port} is not a port of the web.`);
      checkHost(url.hostname);
    },

    checkHost,

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
        // Clients learn that the address is refused, but nothing about the internal network.
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
    const addresses = await withTimeout((inner) => lookup(name, inner), timeoutMs, signal);
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

const cidrRanges = (name: string, meaning: string) =>
  parsedVariable(name, { type: 'CIDR ranges, separated by commas', default: '', parse: parseRanges, meaning });

export const egressVariables = {
  allow: cidrRanges(
    'WEBCAPTURE_EGRESS_ALLOW',
    'Ranges that captures and webhooks may reach although they are closed by default (private, loopback, link-local, reserved).',
  ),
  deny: cidrRanges(
    'WEBCAPTURE_EGRESS_DENY',
    'Ranges that captures and webhooks may never reach; they override all other rules. Name the public addresses of your own cluster here.',
  ),
};

/** Returns the CIDR ranges that captures and webhooks may reach in addition. */
export const readEgressAllow = (env: EnvReader): readonly string[] => egressVariables.allow.read(env);

/** Returns the CIDR ranges that captures and webhooks may never reach. */
export const readEgressDeny = (env: EnvReader): readonly string[] => egressVariables.deny.read(env);

function parseRanges(value: string): readonly string[] {
  const listed = value.split(',').flatMap((range) => range.trim() || []);
  parseCidrs(listed);
  return listed;
}
