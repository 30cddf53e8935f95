import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { ResolvedAddress } from './lookup.ts';

/** What the system's files say about names. */
export interface NameFiles {
  /** The hosts file: names in lower case. */
  readonly hosts: ReadonlyMap<string, readonly ResolvedAddress[]>;
  /** The domains that a short name may be completed with, in order. */
  readonly search: readonly string[];
}

/** Reads hosts(5) and the search list of resolv.conf(5). A file that is not there is empty. */
export async function readNameFiles(hostsFile: string, resolvConf: string): Promise<NameFiles> {
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

/** The last `search` or `domain` line counts; six domains are what resolvers look at. */
function parseSearch(lines: readonly (readonly string[])[]): readonly string[] {
  const line = lines.findLast(([keyword]) => keyword === 'search' || keyword === 'domain');
  return (line ?? [])
    .slice(1, 7)
    .map((domain) => domain.toLowerCase().replace(/\.$/, ''))
    .filter((domain) => domain !== '');
}
