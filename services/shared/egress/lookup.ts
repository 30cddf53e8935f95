import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { delay } from '../runtime/deadline.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Resolves a name to its addresses. Rejects if the name has none. Should stop when the signal aborts. */
export type Lookup = (name: string, signal: AbortSignal) => Promise<readonly ResolvedAddress[]>;

export interface SystemLookupOptions {
  /** Path of the hosts file; by default /etc/hosts. */
  readonly hostsFile?: string;
  /** Path of the file with the search list; by default /etc/resolv.conf. */
  readonly resolvConf?: string;
  /** Name servers, `address` or `address:port`; by default the system's. */
  readonly servers?: readonly string[];
}

/** Interval at which files and name servers are read again. A laptop that changes networks gets new ones. */
const refreshMs = 30_000;

/** Extra time to wait for IPv6 addresses, in case the name servers drop queries for them. */
const graceMs = 250;

/**
 * Resolves names like the system does (hosts file, name servers, search list), but without getaddrinfo. getaddrinfo would block one of the
 * few threads that files and image encoding also need. A page with many names whose name servers do not answer would thus delay every other
 * capture. A name with a dot is tried before the search list is applied.
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

    // A name with one label probably belongs to the search list, so the name itself is tried last.
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

/** IPv4 addresses come first, because connecting to an IPv6 address hangs on networks without IPv6 routing. */
async function ask(resolver: Resolver, name: string): Promise<readonly ResolvedAddress[]> {
  const six = resolver.resolve6(name).then(
    (list) => list.map((address) => ({ address, family: 6 as const })),
    () => [],
  );
  try {
    const four = (await resolver.resolve4(name)).map((address) => ({ address, family: 4 as const }));
    const grace = new AbortController();
    const late = delay(graceMs, grace.signal).then(() => []);
    const both = [...four, ...(await Promise.race([six, late]))];
    grace.abort();
    return both;
  } catch (error) {
    const addresses = await six;
    if (addresses.length > 0) return addresses;
    throw error;
  }
}

/** Whether the name does not exist or has no address. A failed query does not show that. */
function isAbsence(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOTFOUND' || code === 'ENODATA';
}

/** Contents of the system's files that affect names. */
interface NameFiles {
  /** The hosts file: names in lower case. */
  readonly hosts: ReadonlyMap<string, readonly ResolvedAddress[]>;
  /** Domains that are appended to short names, in order. */
  readonly search: readonly string[];
}

/** Reads hosts(5) and the search list of resolv.conf(5). A missing file counts as empty. */
async function readNameFiles(hostsFile: string, resolvConf: string): Promise<NameFiles> {
  const [hosts, resolv] = await Promise.all([readLines(hostsFile), readLines(resolvConf)]);
  return { hosts: parseHosts(hosts), search: parseSearch(resolv) };
}

async function readLines(file: string): Promise<readonly (readonly string[])[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').map((line) =>
    line
      .replace(/[#;].*$/, '')
      .split(/\s+/)
      .filter(Boolean),
  );
}

function parseHosts(lines: readonly (readonly string[])[]): Map<string, ResolvedAddress[]> {
  const hosts = new Map<string, ResolvedAddress[]>();
  for (const [address = '', ...names] of lines) {
    const family = isIP(address);
    if (family !== 4 && family !== 6) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      hosts.set(key, [...(hosts.get(key) ?? []), { address, family }]);
    }
  }
  return hosts;
}

/** The last `search` or `domain` line applies; resolvers use at most six domains. */
function parseSearch(lines: readonly (readonly string[])[]): readonly string[] {
  const line = lines.findLast(([keyword]) => keyword === 'search' || keyword === 'domain');
  return (line ?? [])
    .slice(1, 7)
    .map((domain) => domain.toLowerCase().replace(/\.$/, ''))
    .filter((domain) => domain !== '');
}
