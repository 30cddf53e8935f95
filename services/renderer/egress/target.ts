import { parseHost } from '@webcapture/shared/egress/policy.ts';

/** A server that the browser connects to. */
export interface Target {
  /** The host in canonical form: an IP address without brackets, or a name in lower case. */
  readonly host: string;
  readonly port: number;
  /** `host:port`. The session counts by this key. */
  readonly key: string;
}

function createTarget(hostname: string, port: number): Target | undefined {
  const host = parseHost(hostname);
  if (host === undefined || !Number.isInteger(port) || port < 0 || port > 65_535) return undefined;
  const name = host.kind === 'address' ? host.address : host.name;
  return { host: name, port, key: `${name}:${port}` };
}

/** Returns the server of an http, https, ws or wss URL. */
export function targetOfUrl(url: string): Target | undefined {
  const parsed = URL.parse(url);
  if (parsed === null) return undefined;
  const { protocol, hostname, port } = parsed;
  const standard = { 'http:': 80, 'ws:': 80, 'https:': 443, 'wss:': 443 }[protocol];
  return standard === undefined ? undefined : createTarget(hostname, port === '' ? standard : Number(port));
}

/** Returns the server of the target of a CONNECT request, `host:port`. */
export function targetOfAuthority(authority: string): Target | undefined {
  const [, hostname, port] = /^(.+):(\d{1,5})$/.exec(authority) ?? [];
  return hostname === undefined ? undefined : createTarget(hostname, Number(port));
}

export interface PlainRequest {
  readonly target: Target;
  /** Value of the Host header. */
  readonly authority: string;
  /** Path and query, unchanged. */
  readonly path: string;
}

/** Parses the absolute form of a URL, which browsers send to a proxy for plain HTTP. */
export function parseAbsoluteForm(url: string): PlainRequest | undefined {
  const [, authority, rest = ''] = /^http:\/\/([^/?#@]+)((?:[/?][^#]*)?)$/i.exec(url) ?? [];
  if (authority === undefined) return undefined;
  const target = targetOfUrl(`http://${authority}/`);
  return target && { target, authority, path: rest.startsWith('/') ? rest : `/${rest}` };
}
