import { networkInterfaces } from 'node:os';
import { notationsOf } from '../refused-hosts.ts';

/** Addresses of this machine other than loopback, with IPv6 in brackets. */
const machineHosts: readonly string[] = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .filter(({ internal }) => !internal)
  .map(({ address, family, scopeid }) => (family === 'IPv6' ? `[${address}${scopeid ? '%25eth0' : ''}]` : address));

const names = [
  'localhost',
  'LOCALHOST',
  'LocalHost.',
  'localhost.',
  'x.localhost',
  'a.b.LOCALHOST.',
  'localhost.localdomain',
  'localhost4',
  'localhost6',
  'ip6-localhost',
  'IP6-Loopback',
  'ｌｏｃａｌｈｏｓｔ',
  'loc%61lhost',
  'localhost%2e',
  'ⓛocalhost',
  'metadata',
  'metadata.google.internal',
  'kubernetes.default.svc',
  'host.docker.internal',
];

const sixes = [
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000::0001]',
  '[::]',
  '[0::0]',
  '[::1%25lo]',
  '[::1%lo]',
  '[fe80::1]',
  '[fe80::1%25eth0]',
  '[fd00::2]',
  '[fc00::1]',
  '[ff02::1]',
  '[fd00:ec2::254]',
  '[64:ff9b:1::7f00:1]',
  '[64:ff9b::7f00:1]',
  '[::ffff:0:7f00:1]',
  '[::FFFF:7F00:1]',
  '[::7f00:1]',
  '[2002:7f00:1::]',
  '[::ffff:127.1]',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::169.254.169.254]',
];

const fours = [
  '0.0.0.0',
  '0',
  '0x0',
  '00',
  '127.1',
  '127.0.1',
  '127.0.1.1',
  '127.255.255.254',
  '127.0.0.3',
  '0177.1',
  '0x7f.1',
  '１２７．０．０．１',
  '①②⑦.0.0.1',
  '127｡0｡0｡1',
  '127.0.0.1%2e',
  '127%2e0%2e0%2e1',
  '%31%32%37.0.0.1',
  '٠١٢٧.0.0.1',
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '169.254.170.2',
  '100.100.100.200',
  '168.63.129.16',
  '10.0.0.1',
  '192.168.0.1',
  '172.17.0.1',
  '100.64.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '198.18.0.1',
  '192.0.0.192',
];

/** Every notation of a host in a page, including those that the browser rejects. */
export const notations: readonly string[] = [
  ...new Set([...notationsOf('127.0.0.1'), ...names, ...sixes, ...fours, ...machineHosts]),
];

/** URLs that parsers may interpret differently. */
export function trickyUrls(port: number): readonly string[] {
  const at = `127.0.0.1:${port}`;
  return [
    `http://user@${at}/`,
    `http://user:pass@${at}/`,
    `http://example.com@${at}/`,
    `http://example.com%40@${at}/`,
    `http://example.com:80@${at}/`,
    `http://a:b:c@${at}/`,
    `http://@${at}/`,
    `http://${at}\\@example.com/`,
    `http://${at}#@example.com/`,
    `http://${at}?@example.com/`,
    `http:\\\\${at}\\x`,
    `http:/${at}/`,
    `http:${at}/`,
    `http:///${at}/`,
    `http:////${at}/`,
    `\\\\${at}/`,
    `//${at}/`,
    `/\\${at}/`,
    `\thttp://${at}/`,
    `ht\ntp://${at}/`,
    `http:\r\n//${at}/`,
    `http://127.0.\t0.1:${port}/`,
    `http://127.0.0.1\n:${port}/`,
    ` http://${at}/ `,
    `\u0000http://${at}/`,
    `HTTP://${at}/`,
    `hTTpS://${at}/`,
    `ws://${at}/`,
    `http://127.0.0.1:0${port}/`,
    `http://127.0.0.1:000000${port}/`,
    `http://[::1]:${port}/../..//`,
    `http://${at}/%0d%0aHost:%20example.com`,
    `http://${at}/%20HTTP/1.1%0d%0aX:%20y`,
  ];
}

/** URLs that must never be opened as a page. */
export const foreignUrls: readonly string[] = [
  'file:///etc/passwd',
  'file://localhost/etc/passwd',
  'file:/etc/passwd',
  'FILE:///etc/passwd',
  'file:\\\\\\etc\\passwd',
  'view-source:file:///etc/passwd',
  'view-source:http://127.0.0.1/',
  'ftp://127.0.0.1/',
  'filesystem:http://x/temporary/a',
  'chrome://version',
  'chrome://net-export',
  'chrome-untrusted://x',
  'devtools://devtools/bundled/inspector.html',
  'about:blank',
  'about:version',
  'javascript:location="http://127.0.0.1"',
  'data:text/html,<img src=http://127.0.0.1>',
  'blob:http://127.0.0.1/x',
  'chrome-extension://abcdefghijklmnopabcdefghijklmnop/x',
  'intent://127.0.0.1/#Intent;end',
  'gopher://127.0.0.1:6379/_x',
  'dict://127.0.0.1:11211/',
  'ldap://127.0.0.1/',
  'jar:http://127.0.0.1!/',
  'ws://127.0.0.1/',
];
