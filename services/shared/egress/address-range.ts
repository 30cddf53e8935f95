import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** What an IP address is, in the terms of the IANA special-purpose registries. */
export interface AddressRange {
  /** The address, IPv4-mapped IPv6 unwrapped: `::ffff:10.0.0.1` reaches the very same host as `10.0.0.1`. */
  readonly address: Address;
  /** `unicast` when it is global unicast, else a short description to be read by people. */
  readonly range: string;
  /** The IPv4 address that a translator (NAT64, 6to4, Teredo, ISATAP) would send the packets on to. */
  readonly embedded: ipaddr.IPv4 | undefined;
}

/** The words for the names that ipaddr.js gives to ranges. One that is missing here is called by its name. */
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

/** All that IANA has handed out as global unicast. Ranges come and go around it, so IPv6 is judged by what is inside. */
const globalUnicast6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Returned to IANA when the 6bone ended; nothing public answers there. ipaddr.js has no name for it. */
const sixBone = ipaddr.IPv6.parseCIDR('3ffe::/16');

/**
 * Describes an address. The text must be an address in a resolver's own form (dotted quad, or IPv6 without brackets
 * and zone); undefined when it is not.
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

/** `::a.b.c.d`, given up by RFC 4291. `::` and `::1` are ranges of their own and do not get here. */
function isCompatible(address: ipaddr.IPv6): boolean {
  return address.parts.slice(0, 6).every((part) => part === 0);
}

/** RFC 5214: any prefix, then 0000:5efe or 0200:5efe and an IPv4 address. */
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
      // Local-use prefixes shorter than 96 bits put the IPv4 address elsewhere (RFC 6052, 2.2). Which it is cannot be
      // told, so what is not plainly the common form counts as 0.0.0.0, which is open to nobody.
      return bytes.slice(8, 12).every((byte) => byte === 0) ? at(12, 13, 14, 15) : new ipaddr.IPv4([0, 0, 0, 0]);
    case 'rfc6145':
      return at(12, 13, 14, 15);
    case 'unicast':
      return isCompatible(address) || isIsatap(address) ? at(12, 13, 14, 15) : undefined;
    default:
      return undefined;
  }
}
