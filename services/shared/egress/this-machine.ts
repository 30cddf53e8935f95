import { networkInterfaces } from 'node:os';
import { rangeOf } from './address-range.ts';

/** Whether a connection to the address reaches this machine. On Linux, `0.0.0.0` and `::` reach it as well. */
export function isThisMachine(address: string): boolean {
  const known = rangeOf(address);
  if (known === undefined) return false;
  return ['loopback', 'unspecified'].includes(known.range) || isOfInterface(address);
}

/** Whether a network interface of this machine has the address. */
export function isOfInterface(address: string): boolean {
  const text = rangeOf(address)?.address.toString();
  return Object.values(networkInterfaces()).some((all) =>
    all?.some((own) => rangeOf(own.address)?.address.toString() === text),
  );
}
