import { isIP } from 'node:net';
import type { EnvReader } from '../runtime/env.ts';
import { choiceVariable, optionalVariable, parsedVariable } from '../runtime/variables.ts';
import { type Cidr, holds, parseCidrs, rangeOf } from './address-range.ts';
import { type Host, parseHost } from './policy.ts';

/** Protocols of upstream proxies, and their default ports. */
const defaultPorts = { http: 80, https: 443, socks5: 1080, socks5h: 1080 } as const;

type UpstreamProtocol = keyof typeof defaultPorts;

/** The proxy of the operator's network through which captures and webhooks connect. */
export interface UpstreamProxy {
  readonly protocol: UpstreamProtocol;
  /** A name in lower case, or an IP address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly credentials?: { readonly user: string; readonly password: string };
  /**
   * The process that resolves the names of targets. With `renderer`, this process resolves them, checks the addresses, and sends one of
   * them to the proxy. With `proxy`, the proxy gets unchecked names.
   */
  readonly resolve: 'renderer' | 'proxy';
  readonly noProxy: NoProxy;
}

/** Targets to which this process connects directly. */
export interface NoProxy {
  /** Names in lower case, without a leading dot. Each includes all names below it. */
  readonly names: readonly string[];
  readonly ranges: readonly Cidr[];
}

/** Whether this process connects directly to a name, or to an address without brackets. */
export function isWithoutProxy({ names, ranges }: NoProxy, host: string): boolean {
  const address = rangeOf(host)?.address;
  if (address !== undefined) return ranges.some((range) => holds(range, address));
  return names.some((name) => host === name || host.endsWith(`.${name}`));
}

export const upstreamVariables = {
  url: optionalVariable('WEBCAPTURE_UPSTREAM_PROXY', {
    defaultText: 'none: direct connections',
    meaning:
      'Proxy of your network through which captures and webhooks connect: `http://host:port`, `https://host:port`, `socks5://host:port` (addresses are sent to it) or `socks5h://host:port` (names are sent to it). Without credentials. See [networks](networks.md#an-upstream-proxy).',
  }),
  user: optionalVariable('WEBCAPTURE_UPSTREAM_PROXY_USER', {
    meaning: 'User at the upstream proxy. Set it together with `WEBCAPTURE_UPSTREAM_PROXY_PASSWORD`.',
  }),
  password: optionalVariable('WEBCAPTURE_UPSTREAM_PROXY_PASSWORD', {
    meaning: 'Password of the user at the upstream proxy.',
  }),
  resolve: choiceVariable('WEBCAPTURE_UPSTREAM_PROXY_RESOLVE', ['renderer', 'proxy'], {
    default: 'renderer',
    meaning:
      'What resolves the names of targets. `renderer`: this service, which checks the addresses and sends one of them to the upstream proxy. `proxy`: the upstream proxy, to which names are sent; it must then refuse internal addresses itself. `socks5://` requires `renderer`, `socks5h://` requires `proxy`.',
  }),
  noProxy: parsedVariable('WEBCAPTURE_NO_PROXY', {
    type: 'names and CIDR ranges, separated by commas',
    default: '',
    parse: parseNoProxy,
    meaning:
      'Targets to connect to without the upstream proxy. As in `NO_PROXY` of curl, `corp.example` and `.corp.example` both mean this name and all names below it. The egress policy applies to these targets as well.',
  }),
};

/** Returns the upstream proxy; undefined for direct connections. */
export function readUpstreamProxy(env: EnvReader): UpstreamProxy | undefined {
  const text = upstreamVariables.url.read(env);
  const user = upstreamVariables.user.read(env);
  const password = upstreamVariables.password.read(env);
  const resolve = upstreamVariables.resolve.read(env);
  const noProxy = upstreamVariables.noProxy.read(env);
  if ((user === undefined) !== (password === undefined)) {
    env.problem('WEBCAPTURE_UPSTREAM_PROXY_USER', 'and WEBCAPTURE_UPSTREAM_PROXY_PASSWORD must be set together');
  }
  if (text === undefined) {
    const others = { WEBCAPTURE_UPSTREAM_PROXY_USER: user !== undefined, WEBCAPTURE_NO_PROXY: isSet(noProxy) };
    for (const [name, set] of Object.entries(others)) {
      if (set) env.problem(name, 'needs WEBCAPTURE_UPSTREAM_PROXY: without it, all connections are direct');
    }
    return undefined;
  }
  try {
    const address = parseUrl(text);
    const required = { socks5: 'renderer', socks5h: 'proxy', http: resolve, https: resolve }[address.protocol];
    if (required !== resolve) {
      env.problem(
        'WEBCAPTURE_UPSTREAM_PROXY_RESOLVE',
        `must be ${required} with ${address.protocol}://, not "${resolve}"; ${resolve} needs ${resolve === 'proxy' ? 'socks5h' : 'socks5'}://`,
      );
    }
    if (user === undefined || password === undefined) return { ...address, resolve, noProxy };
    checkCredentials(env, address.protocol, user, password);
    return { ...address, credentials: { user, password }, resolve, noProxy };
  } catch (error) {
    env.problem('WEBCAPTURE_UPSTREAM_PROXY', (error as Error).message);
    return undefined;
  }
}

const isSet = ({ names, ranges }: NoProxy) => names.length + ranges.length > 0;

/** @throws Error whose message is the violated rule; it never contains the text, which may contain a password */
function parseUrl(text: string): Pick<UpstreamProxy, 'protocol' | 'host' | 'port'> {
  const form = 'http://host:port, https://host:port, socks5://host:port or socks5h://host:port';
  const [, scheme = '', rest = ''] = /^([a-z0-9+.-]+):\/\/(.*)$/i.exec(text) ?? [];
  const protocol = scheme.toLowerCase();
  if (!isProtocol(protocol)) throw new Error(`must be an address such as ${form}`);
  if (rest.includes('@')) {
    throw new Error(
      'must not contain credentials: set WEBCAPTURE_UPSTREAM_PROXY_USER and WEBCAPTURE_UPSTREAM_PROXY_PASSWORD',
    );
  }
  const [, name = '', digits] = /^(\[[^\]]*\]|[^/?#:]*)(?::(\d{1,5}))?\/?$/.exec(rest) ?? [];
  const host = name === '' ? undefined : parseHost(name);
  if (host === undefined) throw new Error(`must have a valid host and no path, as in ${form}`);
  const port = digits === undefined ? defaultPorts[protocol] : Number(digits);
  if (port < 1 || port > 65_535) throw new Error(`must have a port from 1 to 65535, not ${port}`);
  return { protocol, host: textOf(host), port };
}

const isProtocol = (text: string): text is UpstreamProtocol => Object.hasOwn(defaultPorts, text);

const textOf = (host: Host) => (host.kind === 'address' ? host.address : host.name);

function checkCredentials(env: EnvReader, protocol: UpstreamProtocol, user: string, password: string): void {
  if (!protocol.startsWith('socks')) {
    // According to RFC 7617, the first colon ends the user.
    if (user.includes(':')) env.problem('WEBCAPTURE_UPSTREAM_PROXY_USER', 'must not contain a colon');
    return;
  }
  // According to RFC 1929, user and password each have a length of one byte.
  const name = { USER: user, PASSWORD: password };
  for (const [what, text] of Object.entries(name)) {
    if (Buffer.byteLength(text) > 255) {
      env.problem(`WEBCAPTURE_UPSTREAM_PROXY_${what}`, 'must have at most 255 bytes with a SOCKS proxy');
    }
  }
}

function parseNoProxy(value: string): NoProxy {
  const entries = value.split(',').flatMap((entry) => entry.trim() || []);
  const isRange = (entry: string) => entry.includes('/') || isIP(entry) !== 0;
  return {
    ranges: parseCidrs(entries.filter(isRange)),
    names: entries.filter((entry) => !isRange(entry)).map(parseName),
  };
}

function parseName(entry: string): string {
  if (entry === '*') throw new Error('must not be "*": leave WEBCAPTURE_UPSTREAM_PROXY empty for direct connections');
  const host = entry.includes('*') ? undefined : parseHost(entry.replace(/^\./, ''));
  if (host?.kind === 'name') return host.name;
  throw new Error(
    `must be names such as corp.example or .corp.example, and CIDR ranges, without "*" and ports, not "${entry}"`,
  );
}
