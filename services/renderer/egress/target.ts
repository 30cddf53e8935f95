import { parseHost } from '@webcapture/shared/egress/policy.ts';

/** A server that the browser wants to talk to. */
export interface Target {
  /** Canonical: an IP address without brackets, or a name in lower case. */
  readonly host: string;
  readonly port: number;
  /** `host:port`, by which a session counts. */
  readonly key: string;
}

function createTarget(hostname: string, port: number): Target | undefined {
  const host = parseHost(hostname);
  if (host === undefined || !Number.isInteger(port) || port < 0 || port > 65_535) return undefined;
  const name = host.kind === 'address' ? host.address : host.name;
  return { host: name, port, key: `${name}:${port}` };
}

/** The server behind an http, https, ws or wss URL. */
export function targetOfUrl(url: string): Target | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, port } = new URL(url);
  const standard = { 'http:': 80, 'ws:': 80, 'https:': 443, 'wss:': 443 }[protocol];
  return standard === undefined ? undefined : createTarget(hostname, port === '' ? standard : Number(port));
}

/** The server of a CONNECT request, `host:port`. */
export function targetOfAuthority(authority: string): Target | undefined {
  const [, hostname, port] = /^(.+):(\d{1,5})$/.exec(authority) ?? [];
  return hostname === undefined ? undefined : createTarget(hostname, Number(port));
}

export interface PlainRequest {
  readonly target: Target;
  /** For the Host header. */
  readonly authority: string;
  /** Path and query, as the browser wrote them. */
  readonly path: string;
}

/** The absolute form that a proxy is sent for plain http. */
export function parseAbsoluteForm(url: string): PlainRequest | undefined {
  const [, authority, rest = ''] = /^http:\/\/([^/?#@]+)((?:[/?][^#]*)?)$/i.exec(url) ?? [];
  if (authority === undefined) return undefined;
  const target = targetOfUrl(`http://${authority}/`);
  return target && { target, authority, path: rest.startsWith('/') ? rest : `/${rest}` };
}
