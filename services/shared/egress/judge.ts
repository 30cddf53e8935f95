import type ipaddr from 'ipaddr.js';
import { rangeOf, type Address } from './address-range.ts';
import { holds, parseCidrs } from './cidr.ts';
import { metadataAddresses } from './metadata-addresses.ts';

/** Whether an address is open; `reason` continues the sentence "10.0.0.1 is …". */
export type Verdict = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

const open: Verdict = { allowed: true };
const refused = (reason: string): Verdict => ({ allowed: false, reason });

/**
 * Builds the function that judges addresses: global unicast is open, and what the operator opened. Closed blocks win
 * over open ones. An address that a translator would send on to an IPv4 address (NAT64 and the like) is refused; when
 * the operator has opened its block, the IPv4 address inside must be open by itself as well.
 *
 * @throws Error naming the entry that is not a CIDR block
 */
export function createJudge(allow: readonly string[], deny: readonly string[]): (address: string) => Verdict {
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
    return range === 'unicast' ? open : refused(`not on the public internet (${range})`);
  };

  const judgeText = (text: string): Verdict => {
    const known = rangeOf(text);
    return known === undefined ? refused('not an IP address') : judge(known.address, known.range, known.embedded);
  };

  return judgeText;
}
