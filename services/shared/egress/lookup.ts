import { Resolver } from 'node:dns/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { readNameFiles, type NameFiles } from './name-files.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Turns a name into its addresses; rejects when it has none. It should give up when the signal aborts. */
export type Lookup = (name: string, signal: AbortSignal) => Promise<readonly ResolvedAddress[]>;

export interface SystemLookupOptions {
  /** By default /etc/hosts. */
  readonly hostsFile?: string;
  /** Read for its search list. By default /etc/resolv.conf. */
  readonly resolvConf?: string;
  /** Name servers, `address` or `address:port`; by default the system's. */
  readonly servers?: readonly string[];
}

/** How long files and name servers are taken for unchanged: a laptop that changes networks gets new ones. */
const refreshMs = 30_000;

/** A site's IPv4 addresses need not wait longer for name servers that drop questions for IPv6 ones. */
const graceMs = 250;

/**
 * Looks names up as the system does (hosts file, name servers, search list), but not through getaddrinfo: that blocks
 * one of the few threads which files and image encoding need too, so a page full of names whose servers do not answer
 * would hold up every other capture. A name is asked for as it stands before the search list is tried.
 */
export function createSystemLookup(options: SystemLookupOptions = {}): Lookup {
  let current: { files: Promise<NameFiles>; resolver: Resolver; until: number } | undefined;

  const refresh = () => {
    const resolver = new Resolver({ timeout: 1500, tries: 3 });
    if (options.servers) resolver.setServers([...options.servers]);
    const files = readNameFiles(options.hostsFile ?? '/etc/hosts', options.resolvConf ?? '/etc/resolv.conf');
    return { files, resolver, until: performance.now() + refreshMs };
  };

  return async (name, signal) => {
    if (current === undefined || performance.now() > current.until) current = refresh();
    const { files, resolver } = current;
    const { hosts, search } = await files;
    const known = hosts.get(name);
    if (known) return known;

    // A name of one label is most likely one of the search list's: do not bother the root servers first.
    const expanded = search.map((domain) => `${name}.${domain}`);
    const candidates = name.includes('.') ? [name, ...expanded] : [...expanded, name];
    let failure: unknown;
    for (const candidate of candidates) {
      signal.throwIfAborted();
      try {
        return await ask(resolver, candidate);
      } catch (error) {
        failure ??= error;
        if (!isAbsence(error)) throw error;
      }
    }
    throw failure;
  };
}

/** IPv4 first: an IPv6 address is worth nothing on a network without a way out for it, and then connecting hangs. */
async function ask(resolver: Resolver, name: string): Promise<readonly ResolvedAddress[]> {
  const six = resolver.resolve6(name).then(
    (list) => list.map((address) => ({ address, family: 6 as const })),
    () => [],
  );
  try {
    const four = (await resolver.resolve4(name)).map((address) => ({ address, family: 4 as const }));
    const grace = new AbortController();
    const late = delay(graceMs, [], { signal: grace.signal, ref: false }).catch(() => []);
    const both = [...four, ...(await Promise.race([six, late]))];
    grace.abort();
    return both;
  } catch (error) {
    const addresses = await six;
    if (addresses.length > 0) return addresses;
    throw error;
  }
}

/** Whether the answer was "there is no such name" or "it has no address", not a failure to get an answer. */
function isAbsence(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOTFOUND' || code === 'ENODATA';
}
