import { describe, expect, it } from 'vitest';
import { createEgressPolicy, parseHost } from '@webcapture/shared/egress/policy.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import { notationsOf, openAddresses, refusedAddresses, refusedHosts } from '../../integration/egress/refused-hosts.ts';

/** Resolves every name to a public address, so that a host that is mistaken for a name is allowed. */
const publicLookup: Lookup = async () => [{ address: '8.8.8.8', family: 4 }];

const answering = (...addresses: string[]): Lookup => {
  return async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
};

const policy = createEgressPolicy({ allow: [], lookup: publicLookup });
const all = Object.values(refusedAddresses).flat();
const fours = all.filter((address) => !address.includes(':'));
const hosts = [
  ...new Set([...fours.flatMap(notationsOf), ...all.map((a) => (a.includes(':') ? `[${a}]` : a)), ...refusedHosts]),
];

const codeOf = (error: unknown) => (error instanceof ServiceError ? error.code : String(error));

const blocked = { name: 'ServiceError', code: 'URL_BLOCKED' };

it('a host of any length is parsed without an exception', () => {
  expect(parseHost('Bearer+'.repeat(20_000))).toBeUndefined();
  expect(parseHost(`${'ä'.repeat(5000)}%41`)).toBeUndefined();
});

describe('the egress policy refuses', () => {
  it('more than 1,500 notations of hosts in these tests', () => {
    expect(hosts.length).toBeGreaterThan(1500);
  });

  it.each(Object.entries(refusedAddresses))('all addresses that are %s', (_, addresses) => {
    const open = addresses.filter((address) => policy.checkAddress(address).allowed);
    expect(open).toEqual([]);
  });

  it('every notation of these hosts when a name is resolved', async () => {
    const verdicts = await Promise.all(hosts.map((host) => policy.resolve(host).then(() => 'open', codeOf)));
    expect(hosts.filter((_, index) => verdicts[index] !== 'URL_BLOCKED')).toEqual([]);
  });

  it.each(['http', 'https'])('every notation of these hosts that is a valid %s URL', (scheme) => {
    const urls = hosts.map((host) => `${scheme}://${host}/`).filter((url) => URL.canParse(url));
    // The URL parser reads some of the invalid hosts as a public host with a path or port.
    const aside = urls.filter((url) => !/^https?:\/\/(example\.com[:/#?\\]|http:|\[2606:)/.test(url));
    expect(aside.length).toBeGreaterThan(1000);
    const verdictOn = (url: string) => {
      try {
        policy.checkLiteral(new URL(url));
        return 'open';
      } catch (error) {
        return codeOf(error);
      }
    };
    expect(aside.filter((url) => verdictOn(url) !== 'URL_BLOCKED')).toEqual([]);
  });

  it('a name that resolves to a refused address, alone or with a public address', async () => {
    const answers = all.flatMap((address) => [[address], ['8.8.8.8', address], [address, '2606:4700::1111']]);
    const verdicts = await Promise.all(
      answers.map((addresses) => {
        return policy.resolve('site.example', { lookup: answering(...addresses) }).then(() => 'open', codeOf);
      }),
    );
    expect(answers.filter((_, index) => verdicts[index] !== 'URL_BLOCKED')).toEqual([]);
  });
});

describe('the egress policy allows', () => {
  it.each(openAddresses)('the address %s', async (address) => {
    expect(policy.checkAddress(address)).toEqual({ allowed: true });
    policy.checkLiteral(new URL(`http://${address.includes(':') ? `[${address}]` : address}/`));
    expect(await policy.resolve(address)).toHaveLength(1);
    expect(await policy.resolve('site.example', { lookup: answering(address) })).toMatchObject([{ address }]);
  });

  it.each([
    'example.com',
    'EXAMPLE.com.',
    'a_b.example',
    'xn--bcher-kva.example',
    'bücher.example',
    'localhost.example',
    '1.example',
    '0x7f.com',
    'example.c0m1',
    'example.1a',
    'example.a0x1',
    `${'a'.repeat(63)}.example`,
    `${'a.'.repeat(126)}b`,
  ])('the name %s', async (name) => {
    policy.checkLiteral(new URL(`https://${name}/x?y#z`));
    expect(await policy.resolve(name)).toEqual([{ address: '8.8.8.8', family: 4 }]);
  });

  it.each([`${'a'.repeat(64)}.example`, `${'a.'.repeat(127)}b`])('no name that is too long: %s', async (name) => {
    await expect(policy.resolve(name)).rejects.toMatchObject(blocked);
  });

  it('an address, which it resolves to itself and its family', async () => {
    expect(await policy.resolve('8.8.8.8')).toEqual([{ address: '8.8.8.8', family: 4 }]);
    expect(await policy.resolve('[2606:4700::1111]')).toEqual([{ address: '2606:4700::1111', family: 6 }]);
  });

  it('any spelling of a name, and resolves its canonical form', async () => {
    const asked: string[] = [];
    const lookup: Lookup = async (name) => {
      asked.push(name);
      return [{ address: '8.8.8.8', family: 4 }];
    };
    for (const name of ['EXAMPLE.com.', 'bücher.example', 'ex%61mple.com']) await policy.resolve(name, { lookup });
    expect(asked).toEqual(['example.com', 'xn--bcher-kva.example', 'example.com']);
  });
});

describe('checkLiteral', () => {
  it.each([
    'file:///etc/passwd',
    'ftp://example.com/',
    'javascript:alert(1)',
    'data:text/html,x',
    'ws://example.com/',
    'view-source:http://example.com/',
    'blob:http://example.com/x',
  ])('refuses the scheme of %s', (url) => {
    expect(() => policy.checkLiteral(new URL(url))).toThrowError(expect.objectContaining(blocked));
  });

  it.each([22, 25, 6379, 4222, 6000, 10080])('refuses port %i', (port) => {
    expect(() => policy.checkLiteral(new URL(`http://example.com:${port}/`))).toThrowError(/port/i);
    expect(policy.allowsPort(port)).toBe(false);
  });

  it.each([80, 443, 3000, 8080, 8443, 9200])('allows port %i', (port) => {
    policy.checkLiteral(new URL(`http://example.com:${port}/`));
    expect(policy.allowsPort(port)).toBe(true);
  });

  it('names the address and the reason in its message', () => {
    expect(() => policy.checkLiteral(new URL('http://0x7f.1/'))).toThrowError(/127\.0\.0\.1 .*\(loopback\)/);
    expect(() => policy.checkLiteral(new URL('http://localhost/'))).toThrowError(/"localhost" is the machine/);
    expect(() => policy.checkLiteral(new URL('http://169.254.169.254/'))).toThrowError(/metadata/);
  });
});

describe('ranges that the operator allows', () => {
  const opened = createEgressPolicy({
    allow: ['127.0.0.2/32', '10.1.0.0/16', 'fd12::/16', '64:ff9b::/96', '::ffff:192.168.7.0/120'],
    lookup: publicLookup,
  });

  it.each([
    '127.0.0.2',
    '10.1.0.0',
    '10.1.255.255',
    'fd12::1',
    '::ffff:10.1.2.3',
    '192.168.7.9',
    '64:ff9b::8.8.8.8',
    '64:ff9b::10.1.0.9',
  ])('allow %s', (address) => expect(opened.checkAddress(address)).toEqual({ allowed: true }));

  it.each([
    '127.0.0.1',
    '127.0.0.3',
    '10.0.255.255',
    '10.2.0.0',
    'fd13::1',
    '192.168.8.0',
    '64:ff9b::10.2.0.1',
    '64:ff9b::127.0.0.1',
    '64:ff9b:1::8.8.8.8',
  ])('do not allow %s', (address) => expect(opened.checkAddress(address).allowed).toBe(false));

  it('allow local names only if they include loopback, and only at the allowed addresses', async () => {
    await expect(opened.resolve('localhost')).rejects.toMatchObject(blocked);
    const four = createEgressPolicy({ allow: ['127.0.0.0/8'], lookup: publicLookup });
    expect(await four.resolve('App.Localhost.')).toEqual([{ address: '127.0.0.1', family: 4 }]);
    four.checkLiteral(new URL('http://localhost:3000/'));
    const both = createEgressPolicy({ allow: ['127.0.0.0/8', '::1'], lookup: publicLookup });
    expect(await both.resolve('localhost')).toHaveLength(2);
  });

  it('allow a metadata address only as a range of one address', () => {
    const wide = createEgressPolicy({ allow: ['0.0.0.0/0', '::/0'] });
    expect(wide.checkAddress('10.0.0.1').allowed).toBe(true);
    expect(wide.checkAddress('fd00::1').allowed).toBe(true);
    const metadata = refusedAddresses['metadata'] ?? [];
    const mapped = metadata.filter((address) => !address.includes(':')).map((address) => `::ffff:${address}`);
    expect([...metadata, ...mapped].filter((address) => wide.checkAddress(address).allowed)).toEqual([]);
    expect(mapped).toHaveLength(6);
    expect(createEgressPolicy({ allow: ['169.254.169.254/32'] }).checkAddress('169.254.169.254').allowed).toBe(true);
  });

  it('allow local-use NAT64 if the IPv4 address in it can be read', () => {
    const translated = createEgressPolicy({ allow: ['64:ff9b:1::/48'] });
    expect(translated.checkAddress('64:ff9b:1::8.8.8.8').allowed).toBe(true);
    expect(translated.checkAddress('64:ff9b:1:7::8.8.8.8').allowed).toBe(true);
    // 10.2.0.1 with a prefix of 48, 56 and 64 bits, and 10.2.0.8 with a prefix of 64 bits.
    const short = ['64:ff9b:1:a02:0:100::', '64:ff9b:1:a:2:1::', '64:ff9b:1:0:a:200:100:0', '64:ff9b:1:0:a:200:800:0'];
    expect(short.filter((address) => translated.checkAddress(address).allowed)).toEqual([]);
  });

  it('are required for IPv6 addresses of this machine', () => {
    const isOwn = (address: string) => ['2606:4700::7', '93.184.0.7'].includes(address);
    const closed = createEgressPolicy({ allow: [], isOwn });
    expect(closed.checkAddress('2606:4700::8').allowed).toBe(true);
    expect(closed.checkAddress('2606:4700:0::7')).toEqual({ allowed: false, reason: 'the machine that renders' });
    // Connections to IPv4 addresses of this machine have a source address of their own, which its servers refuse.
    expect(closed.checkAddress('93.184.0.7').allowed).toBe(true);
    const own = createEgressPolicy({ allow: ['2606:4700::7'], isOwn });
    expect(own.checkAddress('2606:4700::7').allowed).toBe(true);
  });

  it('have a lower precedence than denied ranges', () => {
    const both = createEgressPolicy({ allow: ['10.0.0.0/8'], deny: ['10.9.0.0/16', '93.184.0.0/16'] });
    expect(both.checkAddress('10.8.0.1').allowed).toBe(true);
    expect(both.checkAddress('10.9.0.1').allowed).toBe(false);
    expect(both.checkAddress('93.184.0.1').allowed).toBe(false);
  });

  it.each([
    '10.0.0.0/33',
    '10.0.0/8',
    '10.0.0.1/8',
    '::/129',
    'fd00::1/8',
    'localhost',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/8 ',
    '0x7f.1',
    '',
    '10.0.0.0-10.0.0.9',
    'fe80::1%lo',
  ])('are refused by name if they are invalid: "%s"', (entry) => {
    expect(() => createEgressPolicy({ allow: ['10.0.0.0/8', entry] })).toThrowError(`"${entry}"`);
    expect(() => createEgressPolicy({ allow: [], deny: [entry] })).toThrowError(`"${entry}"`);
  });
});

describe('resolving a name', () => {
  const failed = { name: 'ServiceError', code: 'NAVIGATION_FAILED' };

  it('fails if the name has no address', async () => {
    const lookup: Lookup = async () => Promise.reject(new Error('ENOTFOUND'));
    await expect(policy.resolve('nowhere.example', { lookup })).rejects.toMatchObject(failed);
    await expect(policy.resolve('empty.example', { lookup: answering() })).rejects.toMatchObject(failed);
  });

  it('fails at its deadline, and aborts the lookup', async () => {
    let aborted = false;
    const lookup: Lookup = (_, signal) =>
      new Promise(() => signal.addEventListener('abort', () => (aborted = true), { once: true }));
    const started = performance.now();
    await expect(policy.resolve('slow.example', { lookup, timeoutMs: 50 })).rejects.toMatchObject(failed);
    // The default is 5 s.
    expect(performance.now() - started).toBeLessThan(4500);
    expect(aborted).toBe(true);
  });

  it('fails when its caller aborts', async () => {
    const lookup: Lookup = () => new Promise(() => undefined);
    const signal = AbortSignal.timeout(20);
    await expect(policy.resolve('slow.example', { lookup, signal })).rejects.toMatchObject(failed);
    await expect(policy.resolve('slow.example', { lookup, signal })).rejects.toMatchObject(failed);
  });

  it('does not reveal an internal address in the message', async () => {
    const refused = policy.resolve('intranet.example', { lookup: answering('10.20.30.40') });
    await expect(refused).rejects.toSatisfy((error: Error) => {
      return (
        !error.message.includes('10.20') && !error.message.includes('private') && String(error.cause).includes('10.20')
      );
    });
  });
});
