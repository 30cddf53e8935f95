import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Address } from './address-range.ts';

/** A block of addresses. */
export interface Cidr {
  readonly network: Address;
  /** Length of the prefix in bits: 0 to 32, or 0 to 128. */
  readonly prefix: number;
}

/**
 * Reads the CIDR blocks of an operator (`10.0.0.0/8`, `fd00::/8`; a bare address is a block of one). An IPv4-mapped
 * block is the IPv4 block. Blocks with bits beyond the prefix are refused: `10.1.2.3/8` would open sixteen million
 * addresses to somebody who thought of one.
 *
 * @throws Error naming the entry and the rule.
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

/** Whether a block holds the address. An IPv4 block holds no IPv6 address, and the other way round. */
export function holds(block: Cidr, address: Address): boolean {
  if (address instanceof ipaddr.IPv4) {
    return block.network instanceof ipaddr.IPv4 && address.match(block.network, block.prefix);
  }
  return block.network instanceof ipaddr.IPv6 && address.match(block.network, block.prefix);
}
