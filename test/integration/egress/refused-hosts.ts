/** Splits lines into words. A line of several words is easier to read than one word per line. */
const words = (...lines: readonly string[]): readonly string[] => lines.flatMap((line) => line.split(' '));

/** Addresses that must be refused, by range: the first and the last of each, and well-known ones. */
export const refusedAddresses: Readonly<Record<string, readonly string[]>> = {
  unspecified: words('0.0.0.0 0.0.0.1 0.255.255.255 ::'),
  private: words(
    '10.0.0.0 10.96.0.1 10.255.255.255 172.16.0.0 172.17.0.1 172.31.255.255',
    '192.168.0.0 192.168.1.1 192.168.255.255',
  ),
  loopback: words('127.0.0.0 127.0.0.1 127.0.1.1 127.255.255.255 ::1'),
  linkLocal: words('169.254.0.0 169.254.169.253 169.254.255.255 fe80:: fe80::1 fe80::a9fe:a9fe febf:ffff::1'),
  metadata: words(
    '169.254.169.254 169.254.170.2 169.254.170.23 fd00:ec2::254 fd00:ec2::23 fd20:ce::254',
    '168.63.129.16 100.100.100.200 192.0.0.192',
  ),
  carrierGradeNat: words('100.64.0.0 100.64.0.1 100.127.255.255'),
  multicast: words(
    '224.0.0.0 224.0.0.1 239.255.255.250 239.255.255.255 ff00:: ff02::1 ff02::fb',
    'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
  ),
  broadcast: words('255.255.255.255'),
  reserved: words(
    '192.0.0.0 192.0.0.170 192.0.0.255 192.88.99.0 192.88.99.255 240.0.0.0 247.1.2.3 255.255.255.254',
    '1fff:ffff::1 4000:: 8000::1 fbff::1 5f00::1',
  ),
  documentation: words(
    '192.0.2.0 192.0.2.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255 2001:db8:: 3fff::',
    '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff',
  ),
  benchmarking: words('198.18.0.0 198.19.255.255 2001:2:: 2001:2:0:ffff:ffff:ffff:ffff:ffff'),
  as112: words('192.31.196.1 192.175.48.1 2001:4:112::1 2620:4f:8000::1'),
  amt: words('192.52.193.1 2001:3::1'),
  uniqueLocal: words('fc00:: fc00::1 fd12:3456:789a::1 fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'),
  siteLocal: words('fec0:: fec0::1 feff:ffff::1'),
  discard: words('100:: 100::1 100::ffff:ffff:ffff:ffff'),
  orchid: words('2001:10::1 2001:20::1 2001:2f:ffff::1 2001:30::1'),
  ietf: words('2001:1::1 2001:1ff:ffff::1'),
  sixBone: words('3ffe:: 3ffe:ffff::1'),
};

/** Addresses just outside of a refused range, and some of public sites. */
export const openAddresses: readonly string[] = words(
  '1.0.0.0 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0',
  '168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255',
  '192.0.1.0 192.0.1.255 192.0.3.0 192.31.195.255 192.31.197.0 192.52.192.255 192.52.194.0 192.88.98.255',
  '192.88.100.0 192.167.255.255 192.169.0.0 192.175.47.255 192.175.49.0 198.17.255.255 198.20.0.0',
  '198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 ::ffff:8.8.8.8',
  '2000:: 2001:200:: 2001:4860:4860::8888 2001:db7:ffff:ffff:ffff:ffff:ffff:ffff 2001:db9:: 2001:ffff::1 2003::1',
  '2606:4700:4700::1111 2620:4f:7fff::1 2620:4f:8001::1 2a00:1450:4001::1 3ffd:ffff::1 3fff:1000:: 3fff:ffff::1',
);

/** Returns all notations of an IPv4 address that a URL parser or an old resolver accepts. */
export function notationsOf(address: string): readonly string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const number = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
  const hex = (value: number) => `0x${value.toString(16)}`;
  const octal = (value: number) => `0${value.toString(8)}`;
  const word = (high: number, low: number) => ((high << 8) | low).toString(16);
  const [high, low] = [word(a, b), word(c, d)];
  const flipped = (text: string) => (parseInt(text, 16) ^ 0xffff).toString(16);
  const wide = address.replaceAll(/\d/g, (digit) => String.fromCodePoint(digit.charCodeAt(0) + 0xfee0));
  return words(
    `${address} ${address}. ${number} ${number}. ${hex(number)} ${hex(number).toUpperCase()} ${octal(number)}`,
    `${[a, b, c, d].map(hex).join('.')} ${[a, b, c, d].map(octal).join('.')} ${hex(a)}.${octal(b)}.${c}.${d}`,
    `${a}.${b}.${(c << 8) | d} ${a}.${(b << 16) | (c << 8) | d} ${hex(a)}.${hex((b << 16) | (c << 8) | d)}`,
    `000${octal(a)}.${b}.${c}.${d} ${wide.replaceAll('.', '。')} %${address.charCodeAt(0).toString(16)}${address.slice(1)}`,
    `[::ffff:${address}] [::ffff:${high}:${low}] [0:0:0:0:0:ffff:${high}:${low}] [::FFFF:${address}]`,
    `[::${address}] [::ffff:0:${address}] [64:ff9b::${address}] [64:ff9b:1::${high}:${low}]`,
    `[2002:${high}:${low}::1] [2001:0:4136:e378:8000:63bf:${flipped(high)}:${flipped(low)}]`,
    `[2a00:1450::5efe:${high}:${low}] [2a00:1450::200:5efe:${high}:${low}] [fe80::5efe:${address}]`,
  );
}

/** Names of this machine, and texts that are not a host but that a component may accept as one. */
export const refusedHosts: readonly string[] = [
  ...words(
    'localhost LOCALHOST LocalHost localhost. LOCALHOST. foo.localhost a.b.LOCALHOST. localhost.localdomain',
    'localhost.localdomain. localhost4 localhost6 localhost6.localdomain6 ip6-localhost IP6-Loopback ip6-loopback.',
    'ⓛocalhost ｌｏｃａｌｈｏｓｔ local\u00adhost loc%61lhost localhost%2e localhost。 ℓocalhost',
    'localhost.. .localhost a..localhost .. . 127.0.0.1.. .127.0.0.1 127..1 127.0.0.256 1.2.3.4.5',
    '127.0.0.1%00 127.0.0.1%20 127.0.0.1%2f 127.0.0.1%23 127.0.0.1\u0000 127.0.0.1\\ a%20b',
    '0x 0x.0x.0 0x7g.1 0177.0.0.0x1. 4294967296 99999999999 08.0.0.1 example.0x7f example.127 example.com.1',
    '[::1 ::1] [[::1]] [::1]:80 [2606:4700::1]:80 ::1 0:0:0:0:0:0:0:1 [0:0:0:0:0:0:0:1] [::1%lo] [::1%25lo] [fe80::1%25eth0] fe80::1%eth0',
    '[::ffff:127.1] [::ffff:0x7f000001] [127.0.0.1] [v1.a] [] [:::] [1:2:3] [::1]. [::] [0::0] [0000::0001]',
    'user@127.0.0.1 example.com@127.0.0.1 127.0.0.1:80 example.com:80 example.com/x example.com#@127.0.0.1',
    'example.com?127.0.0.1 example.com\\@127.0.0.1 \\\\localhost //127.0.0.1 http://127.0.0.1',
  ),
  '',
  ' ',
  '127.0.0.1 ',
  ' 127.0.0.1',
  '127.0.0.1\t',
  '127.0.0.1\n',
  '127.0.0.1 example.com',
  'a'.repeat(64),
  `${'a.'.repeat(130)}com`,
];
