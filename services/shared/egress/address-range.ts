import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Addresses at which clouds provide credentials to any client inside. Most of them are in refused ranges, but some (Azure's) are not. A
 * range as wide as 0.0.0.0/0 must not allow them, so only a block of exactly that address allows it.
 */
export const metadataAddresses: readonly string[] = [
  '169.254.169.254', // AWS, GCP, Azure, OpenStack, DigitalOcean and others
  '169.254.170.2', // AWS ECS task credentials
  '169.254.170.23', // AWS EKS pod identity
  'fd00:ec2::254', // AWS over IPv6
  'fd00:ec2::23', // AWS EKS pod identity over IPv6
  'fd20:ce::254', // GCP over IPv6
  '168.63.129.16', // Azure's host agent, a public address
  '100.100.100.200', // Alibaba Cloud
  '192.0.0.192', // Oracle Cloud
];

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Classification of an IP address in terms of the IANA special-purpose registries. */
export interface AddressRange {
  /** The address, with IPv4-mapped IPv6 converted to IPv4: `::ffff:10.0.0.1` reaches the same host as `10.0.0.1`. */
  readonly address: Address;
  /** `unicast` for global unicast; otherwise a short description for people. */
  readonly range: string;
  /** The IPv4 address to which a translator (NAT64, 6to4, Teredo, ISATAP) would forward packets. */
  readonly embedded: ipaddr.IPv4 | undefined;
}

/** Descriptions of the ranges of ipaddr.js. A range that is missing here is described by its name. */
const words: Readonly<Record<string, string>> = {
  private: 'private',
  loopback: 'loopback',
  linkLocal: 'link-local',
  carrierGradeNat: 'carrier-grade NAT',
  multicast: 'multicast',
  broadcast: 'broadcast',
  unspecified: 'unspecified',
  uniqueLocal: 'unique local',
  deprecatedSiteLocal: 'site-local',
  discard: 'discard-only',
  rfc6145: 'IPv4-translated',
  rfc6052: 'NAT64',
  teredo: 'Teredo',
  benchmarking: 'benchmarking',
  segmentRouting: 'segment routing',
};

/** The space that IANA has assigned for global unicast. Special ranges change, so IPv6 is classified by this block. */
const globalUnicast6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** A block that was returned to IANA at the end of the 6bone; it has no public servers. ipaddr.js has no name for it. */
const sixBone = ipaddr.IPv6.parseCIDR('3ffe::/16');

/**
 * Classifies an address. The text must be in the form of a resolver (dotted quad, or IPv6 without brackets and zone). Returns undefined for
 * any other text.
 */
export function rangeOf(text: string): AddressRange | undefined {
  if (isIP(text) === 0 || text.includes('%')) return undefined;
  const address = ipaddr.process(text);
  if (address instanceof ipaddr.IPv4) return { address, range: rangeOf4(address), embedded: undefined };
  return { address, range: rangeOf6(address), embedded: embeddedIn(address) };
}

function rangeOf4(address: ipaddr.IPv4): string {
  const range = address.range();
  return words[range] ?? range;
}

function rangeOf6(address: ipaddr.IPv6): string {
  const range: string = address.range();
  if (range !== 'unicast') return words[range] ?? range;
  if (isCompatible(address)) return 'IPv4-compatible';
  if (isIsatap(address)) return 'ISATAP';
  return address.match(globalUnicast6) && !address.match(sixBone) ? 'unicast' : 'reserved';
}

/** Matches `::a.b.c.d`, which RFC 4291 deprecates. `::` and `::1` are separate ranges and are handled before. */
function isCompatible(address: ipaddr.IPv6): boolean {
  return address.parts.slice(0, 6).every((part) => part === 0);
}

/** Matches the form of RFC 5214: any prefix, then 0000:5efe or 0200:5efe, and an IPv4 address. */
function isIsatap(address: ipaddr.IPv6): boolean {
  const [, , , , high, low] = address.parts;
  return low === 0x5efe && (high === 0 || high === 0x0200);
}

function embeddedIn(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  const bytes = address.toByteArray();
  const at = (...indexes: number[]) => new ipaddr.IPv4(indexes.map((index) => bytes[index] ?? 0));
  switch (address.range()) {
    case '6to4':
      return at(2, 3, 4, 5);
    case 'teredo':
      return new ipaddr.IPv4(bytes.slice(12).map((byte) => byte ^ 0xff));
    case 'rfc6052':
      // Local-use prefixes shorter than 96 bits place the IPv4 address elsewhere (RFC 6052, 2.2), and the prefix length
      // is unknown. Every uncommon form therefore counts as 0.0.0.0, which is always refused.
      return bytes.slice(8, 12).every((byte) => byte === 0) ? at(12, 13, 14, 15) : new ipaddr.IPv4([0, 0, 0, 0]);
    case 'rfc6145':
      return at(12, 13, 14, 15);
    case 'unicast':
      return isCompatible(address) || isIsatap(address) ? at(12, 13, 14, 15) : undefined;
    default:
      return undefined;
  }
}

/** A block of addresses. */
export interface Cidr {
  readonly network: Address;
  /** Length of the prefix in bits: 0 to 32, or 0 to 128. */
  readonly prefix: number;
}

/**
 * Parses an operator's CIDR blocks (`10.0.0.0/8`, `fd00::/8`; an address without a prefix is a block of one). An IPv4-mapped block is
 * converted to IPv4. A block with bits beyond its prefix is refused: an operator who writes `10.1.2.3/8` probably means one address, but
 * the block has sixteen million.
 *
 * @throws Error naming the entry and the rule
 */
export function parseCidrs(entries: readonly string[]): readonly Cidr[] {
  return entries.map(parseCidr);
}

function parseCidr(entry: string): Cidr {
  const [, text = '', length] = /^([0-9a-f:.]+)(?:\/(0|[1-9]\d{0,2}))?$/i.exec(entry) ?? [];
  const family = isIP(text);
  if (family === 0) throw new Error(`"${entry}" is not a CIDR block such as 10.0.0.0/8, 192.0.2.7/32 or fd00::/8`);
  const bits = family === 4 ? 32 : 128;
  const prefix = length === undefined ? bits : Number(length);
  if (prefix > bits) throw new Error(`"${entry}" is not a CIDR block: the prefix is at most ${bits}`);

  const address = ipaddr.parse(text);
  const network = firstOf(address, prefix);
  if (network.toString() !== address.toString()) {
    throw new Error(
      `"${entry}" has bits set beyond its prefix: write ${network.toString()}/${prefix} or ${text}/${bits}`,
    );
  }
  if (network instanceof ipaddr.IPv6 && prefix >= 96 && network.isIPv4MappedAddress()) {
    return { network: network.toIPv4Address(), prefix: prefix - 96 };
  }
  return { network, prefix };
}

function firstOf(address: Address, prefix: number): Address {
  const bytes = address
    .toByteArray()
    .map((byte, index) => byte & (0xff << Math.min(8, Math.max(0, (index + 1) * 8 - prefix))) & 0xff);
  return ipaddr.fromByteArray(bytes);
}

/** Whether a block contains the address. IPv4 blocks contain no IPv6 addresses, and vice versa. */
export function holds(block: Cidr, address: Address): boolean {
  if (address instanceof ipaddr.IPv4) {
    return block.network instanceof ipaddr.IPv4 && address.match(block.network, block.prefix);
  }
  return block.network instanceof ipaddr.IPv6 && address.match(block.network, block.prefix);
}
