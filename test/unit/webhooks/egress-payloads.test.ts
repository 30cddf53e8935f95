import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSystemLookup } from '@webcapture/shared/egress/lookup.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { sendEvent } from '../../../services/controller/jobs/webhooks/send.ts';
import { checkWebhook } from '../../../services/front/capture/accept-request.ts';
import { startDnsServer, type DnsServer } from '../../integration/egress/dns-server.ts';
import { foreignUrls, notations, trickyUrls } from '../../integration/egress/payloads/addresses.ts';
import { startCanary, type Canary } from '../../integration/egress/payloads/canary.ts';
import { changingNames, rebindingNames } from '../../integration/egress/payloads/rebinding.ts';
import { publicAddress } from '../../integration/egress/sites.ts';

const event = { headers: { 'content-type': 'application/json' }, body: '{}' };
const names = Object.keys(rebindingNames);

let canary: Canary;
let dns: DnsServer;
let lookup: ReturnType<typeof createSystemLookup>;

beforeAll(async () => {
  canary = await startCanary();
  dns = await startDnsServer({ ...rebindingNames, ...changingNames });
  lookup = createSystemLookup({ servers: [dns.address], hostsFile: '/dev/null', resolvConf: '/dev/null' });
});

afterAll(async () => {
  await canary.close();
  dns.close();
});

const closed = () => createEgressPolicy({ allow: [`${publicAddress}/32`], lookup });
const at = (host: string, scheme = 'http') => `${scheme}://${host}:${canary.port}/hook`;

/** The same addresses as in the tests of captures. */
const addresses = () =>
  [...notations.flatMap((host) => [at(host), at(host, 'https')]), ...trickyUrls(canary.port)].filter((url) =>
    URL.canParse(url),
  );

test('no event is sent to an internal address in any notation', async () => {
  const urls = [...addresses(), ...foreignUrls.filter((url) => URL.canParse(url)), ...names.map((name) => at(name))];
  const results = await Promise.all(urls.map((url) => sendEvent(url, event, { policy: closed() })));
  const others = urls.filter((_, index) => {
    const result = results[index];
    return result?.delivered !== false || result.reason !== 'refused by the egress policy';
  });
  expect(others).toEqual([]);
  expect(canary.touches).toEqual([]);
  process.stdout.write(`${urls.length} addresses of webhooks refused, canary untouched\n`);
});

test('no event is sent to a name that resolves to an internal address at a later lookup', async () => {
  for (const name of Object.keys(changingNames)) {
    const policy = closed();
    expect(await sendEvent(at(name), event, { policy }), name).toEqual({ delivered: true, status: 200 });
    expect(await sendEvent(at(name), event, { policy }), name).toMatchObject({
      reason: 'refused by the egress policy',
    });
  }
  expect(canary.opened()).toBe(Object.keys(changingNames).length);
  expect(canary.touches).toEqual([]);
});

test('a literal internal address is refused with the request', () => {
  // A name is resolved at each delivery. In this test, invalid addresses of the list are refused too.
  const literals = addresses().filter((url) => !names.includes(new URL(url).hostname));
  const policy = closed();
  const taken = [...literals, ...foreignUrls.filter((url) => URL.canParse(url))].filter((url) => {
    try {
      checkWebhook({ url }, policy);
      return true;
    } catch (error) {
      return !String(error).includes('webhook.url: The address is refused');
    }
  });
  expect(literals.length).toBeGreaterThan(150);
  expect(taken).toEqual([]);
});

test('denied ranges are refused, even if they are also allowed', async () => {
  const policy = createEgressPolicy({ allow: ['127.0.0.0/8'], deny: ['127.0.0.1'], lookup });
  expect(await sendEvent(at('127.0.0.1'), event, { policy })).toMatchObject({
    reason: 'refused by the egress policy',
  });
  expect(await sendEvent(at('inner.example'), event, { policy })).toMatchObject({
    reason: 'refused by the egress policy',
  });
  expect(() => checkWebhook({ url: at('0x7f.1') }, policy)).toThrowError(/closed by the operator/);
  expect(canary.touches).toEqual([]);
});

test('the canary is reachable if its address is allowed', async () => {
  const policy = createEgressPolicy({ allow: ['127.0.0.0/8', '::1'], lookup });
  for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]', 'inner.example', '[::1]']) {
    expect(await sendEvent(at(host), event, { policy }), host).toEqual({ delivered: true, status: 200 });
  }
  expect(canary.touches).toHaveLength(6);
});
