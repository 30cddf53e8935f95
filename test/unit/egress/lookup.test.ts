import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSystemLookup, type Lookup } from '@webcapture/shared/egress/lookup.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { timeOf } from '../../harness/time-of.ts';
import { startDnsServer, type DnsServer } from '../../integration/egress/dns-server.ts';

let dns: DnsServer;
let folder: string;
let lookup: Lookup;
const never = new AbortController().signal;

beforeAll(async () => {
  dns = await startDnsServer({
    'both.example': { A: ['93.184.0.1', '93.184.0.2'], AAAA: ['2606:2800:21f:cb07:6820:80da:af6b:8b2c'] },
    'four.example': { A: ['93.184.0.3'] },
    'six.example': { AAAA: ['2606:2800:21f:cb07:6820:80da:af6b:8b2c'] },
    'none.example': {},
    'deaf.example': { A: ['93.184.0.4'], silent: 'AAAA' },
    'dead.example': { silent: 'all' },
    'mixed.example': { A: ['93.184.0.5', '10.0.0.5'] },
    'mixed6.example': { A: ['93.184.0.5'], AAAA: ['fd00:0:0:0:0:0:0:1'] },
    'web.shop.svc.cluster.test': { A: ['10.96.0.7'] },
    'short.cluster.test': { A: ['10.96.0.8'] },
  });
  folder = await mkdtemp(join(tmpdir(), 'lookup-'));
  const hostsFile = join(folder, 'hosts');
  const resolvConf = join(folder, 'resolv.conf');
  await writeFile(
    hostsFile,
    '# names\n127.0.0.1 localhost\n10.0.0.9\tInner.example inner # x\n::1 inner.example\nnonsense line\n',
  );
  await writeFile(
    resolvConf,
    'nameserver 10.0.0.1\nsearch old.test\nsearch svc.cluster.test. cluster.test\noptions ndots:5\n',
  );
  lookup = createSystemLookup({ hostsFile, resolvConf, servers: [dns.address] });
});

afterAll(async () => {
  dns.close();
  await rm(folder, { recursive: true });
});

const addressesOf = async (name: string) => (await lookup(name, never)).map(({ address }) => address);

it('looks up both families and puts IPv4 first', async () => {
  expect(await lookup('both.example', never)).toEqual([
    { address: '93.184.0.1', family: 4 },
    { address: '93.184.0.2', family: 4 },
    { address: '2606:2800:21f:cb07:6820:80da:af6b:8b2c', family: 6 },
  ]);
});

it('accepts a single family', async () => {
  expect(await addressesOf('four.example')).toEqual(['93.184.0.3']);
  expect(await lookup('six.example', never)).toEqual([
    { address: '2606:2800:21f:cb07:6820:80da:af6b:8b2c', family: 6 },
  ]);
});

it('does not wait long for a name server that drops queries for IPv6', async () => {
  const look = async () => expect(await addressesOf('deaf.example')).toEqual(['93.184.0.4']);
  expect(await timeOf(look)).toBeLessThan(4000);
});

it('reads the hosts file first', async () => {
  expect(await addressesOf('inner.example')).toEqual(['10.0.0.9', '::1']);
  expect(await addressesOf('inner')).toEqual(['10.0.0.9']);
  expect(dns.asked.some((question) => question.startsWith('inner'))).toBe(false);
});

it('completes short names from the search list, after the name itself if it contains a dot', async () => {
  expect(await addressesOf('short')).toEqual(['10.96.0.8']);
  expect(dns.asked.some((question) => question.startsWith('short '))).toBe(false);
  expect(await addressesOf('web.shop')).toEqual(['10.96.0.7']);
  expect(dns.asked.findIndex((q) => q === 'web.shop A')).toBeLessThan(
    dns.asked.findIndex((q) => q === 'web.shop.svc.cluster.test A'),
  );
});

it('rejects for names without an address', async () => {
  await expect(lookup('nowhere.example', never)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  await expect(lookup('none.example', never)).rejects.toMatchObject({ code: 'ENODATA' });
});

it('works with the egress policy, which checks every address and has a deadline', async () => {
  const policy = createEgressPolicy({ allow: [], lookup });
  expect(await policy.resolve('both.example')).toHaveLength(3);
  for (const name of ['mixed.example', 'mixed6.example', 'inner.example', 'short']) {
    await expect(policy.resolve(name)).rejects.toMatchObject({ code: 'URL_BLOCKED' });
  }
  await expect(policy.resolve('nowhere.example')).rejects.toMatchObject({ code: 'NAVIGATION_FAILED' });
  const give = () =>
    expect(policy.resolve('dead.example', { timeoutMs: 200 })).rejects.toMatchObject({ code: 'NAVIGATION_FAILED' });
  expect(await timeOf(give)).toBeLessThan(4000);
});
