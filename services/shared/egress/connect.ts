import { connect as open, type Socket } from 'node:net';
import process from 'node:process';
import { onAbort } from '../runtime/deadline.ts';
import type { ResolvedAddress } from './lookup.ts';
import { EgressFailure } from './policy.ts';
import { pageSource, refusesPages } from '../runtime/page-source.ts';
import { rangeOf } from './address-range.ts';
import { isThisMachine } from './this-machine.ts';

/** Maximum number of addresses to try. With more, the caller would time out first. */
export const maxAddresses = 4;

/**
 * Connects to the first address that answers, in order, without a look-up. Each attempt gets its share of the remaining time.
 *
 * @param isForPage false for a connection that the operator configured; the system then chooses its source address
 * @throws EgressFailure `unreachable` (its cause is the system error), `connect-timeout`, `blocked` for a server of this process that
 * refuses pages, or `closed` if the signal aborts
 */
export async function connect(
  addresses: readonly ResolvedAddress[],
  port: number,
  timeoutMs: number,
  signal: AbortSignal,
  isForPage = true,
): Promise<Socket> {
  const deadline = performance.now() + timeoutMs;
  const tried = addresses.slice(0, maxAddresses);
  let failure = new EgressFailure('unreachable', 'there is no address');
  for (const [index, address] of tried.entries()) {
    const share = (deadline - performance.now()) / (tried.length - index);
    try {
      return await connectOnce(address, port, Math.max(share, 1), signal, isForPage);
    } catch (error) {
      if (!(error instanceof EgressFailure) || error.kind === 'closed') throw error;
      failure = error;
    }
  }
  throw failure;
}

function connectOnce(
  to: ResolvedAddress,
  port: number,
  timeoutMs: number,
  signal: AbortSignal,
  isForPage: boolean,
): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  if (isForPage && isRefusedTarget(to.address, port)) throw new EgressFailure('blocked', 'a port of this service');
  const localAddress = isForPage ? pageSourceFor(to.address) : undefined;
  const socket = open({
    host: to.address,
    family: to.family,
    port,
    noDelay: true,
    autoSelectFamily: false,
    ...(localAddress !== undefined && { localAddress }),
  });
  const timer = setTimeout(
    () => socket.destroy(new EgressFailure('connect-timeout', `no connection within ${Math.round(timeoutMs)} ms`)),
    timeoutMs,
  );
  const stopWaiting = () => {
    clearTimeout(timer);
    stopListening();
    socket.off('error', fail).off('connect', succeed);
  };
  const fail = (error: Error) => {
    stopWaiting();
    // The socket is closed, but a late error on it without a listener would end the process.
    socket.on('error', () => undefined);
    reject(
      error instanceof EgressFailure ? error : new EgressFailure('unreachable', 'no connection', { cause: error }),
    );
  };
  const succeed = () => {
    stopWaiting();
    resolve(socket);
  };
  socket.on('error', fail).on('connect', succeed);
  const stopListening = onAbort(signal, () => socket.destroy(new EgressFailure('closed', 'the request was given up')));
  return promise;
}

/** Returns the local address for a connection on behalf of a page; undefined if the system chooses it. */
function pageSourceFor(address: string): string | undefined {
  if (process.platform !== 'linux' || !isIPv4(address) || !isThisMachine(address)) return undefined;
  return address.includes(':') ? `::ffff:${pageSource}` : pageSource;
}

/**
 * Whether a server of this process at the address and port refuses pages, but cannot recognize them. On IPv6 there is only one loopback
 * address, so connections of pages have the same source as all others.
 */
const isRefusedTarget = (address: string, port: number): boolean =>
  refusesPages(port) && !isIPv4(address) && isThisMachine(address);

/** Whether the text is an IPv4 address, also in IPv6 notation. */
const isIPv4 = (address: string) => rangeOf(address)?.address.kind() === 'ipv4';
