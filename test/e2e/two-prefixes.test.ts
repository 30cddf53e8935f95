// @module-tag long
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import type { ServiceName } from '@webcapture/shared/runtime/service-command.ts';
import { Broker } from '../harness/broker.ts';
import { testSites } from '../harness/fleet.ts';
import { freePort } from '../harness/free-port.ts';
import { silentLog } from '../harness/nats-session.ts';
import { usersOfPrefixes } from '../harness/nats-users.ts';
import { ServiceProcess } from '../harness/service-process.ts';
import { serve } from '../harness/static-site.ts';
import { until } from '../harness/until.ts';

// Two installations in one NATS account, with the same API key. Only the first one has a renderer.
const prefixes = ['acme', 'other'] as const;
const users = usersOfPrefixes(prefixes);
const region = 'us-east';
const key = 'test-key-of-two-fleets';

let broker: Broker;
const started: ServiceProcess[] = [];
const urls = new Map<string, string>();
beforeAll(async () => {
  const folder = await mkdtemp(join(inject('tempFolder'), 'prefixes-'));
  const tools = inject('tools');
  broker = await Broker.start(folder, tools.natsServer, users.config);
  const start = async (prefix: string, service: ServiceName & ('front' | 'controller' | 'renderer'), env: object) => {
    const part = await ServiceProcess.prepare(`${prefix}-${service}`, service, {
      PATH: process.env['PATH'],
      HOME: folder,
      TMPDIR: folder,
      WEBCAPTURE_NATS_URL: broker.url,
      WEBCAPTURE_NATS_PREFIX: prefix,
      WEBCAPTURE_REGIONS: `${region}:0`,
      WEBCAPTURE_EGRESS_ALLOW: testSites,
      ...users.userOf(prefix, service, service === 'renderer' ? region : undefined),
      ...env,
    });
    started.push(part);
    await part.launch();
    // Five processes start beside other tests.
    await part.ready(150_000);
  };
  for (const prefix of prefixes) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    urls.set(prefix, url);
    await start(prefix, 'controller', { WEBCAPTURE_PUBLIC_URL: url });
    await start(prefix, 'front', {
      PORT: String(port),
      WEBCAPTURE_HOST: '127.0.0.1',
      WEBCAPTURE_PUBLIC_URL: url,
      WEBCAPTURE_API_KEY: key,
    });
  }
  await start('acme', 'renderer', {
    WEBCAPTURE_REGION: region,
    WEBCAPTURE_SLOTS: '1',
    WEBCAPTURE_HEADLESS_SHELL_PATH: tools.headlessShell,
    WEBCAPTURE_CHROMIUM_PATH: tools.chromium,
    WEBCAPTURE_CHROMIUM_SANDBOX: tools.sandbox,
    WEBCAPTURE_FILTERS_PATH: tools.filters,
  });
});
afterAll(async () => {
  await Promise.all(started.map((part) => part.stop()));
  await broker.stop();
});

interface Listed {
  readonly items: readonly { readonly uuid: string; readonly status: string }[];
}

async function call<T>(prefix: string, path: string, body?: object): Promise<{ status: number; data: T }> {
  const response = await fetch(`${urls.get(prefix)}${path}`, {
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(180_000),
  });
  return { status: response.status, data: ((await response.json()) as { data: T }).data };
}

const uuidsOf = async (prefix: string) =>
  (await call<Listed>(prefix, '/captures')).data.items.map(({ uuid, status }) => `${uuid} ${status}`);

test('two installations in one account neither see nor render the captures of each other', async () => {
  await using site = await serve((_, response) => response.setHeader('content-type', 'text/html').end('<p>page'));
  const waiting = await call<{ uuid: string; status: string }>('other', '/capture', {
    url: site.url,
    background: true,
  });
  expect(waiting.data.status).toBe('queued');
  const rendered = await call<{ uuid: string; fileUrl: string }>('acme', '/capture', { url: site.url });
  expect(rendered.status).toBe(200);
  expect((await fetch(rendered.data.fileUrl)).status).toBe(200);

  await until('the record', async () => (await uuidsOf('acme')).length === 1);
  expect(await uuidsOf('acme')).toEqual([`${rendered.data.uuid} completed`]);
  // The renderer of the first installation was idle, and would have taken any capture that it sees.
  expect(await uuidsOf('other')).toEqual([`${waiting.data.uuid} queued`]);
  expect((await call('acme', `/captures/${waiting.data.uuid}`)).status).toBe(404);
  expect((await call('other', `/captures/${rendered.data.uuid}`)).status).toBe(404);
  const file = new URL(rendered.data.fileUrl).pathname;
  expect((await fetch(`${urls.get('other')}${file}`)).status).toBe(404);

  const session = await connectNats({
    url: broker.url,
    name: 'test',
    log: silentLog,
    signal: AbortSignal.timeout(30_000),
  });
  const subjectsOf = async (stream: string) =>
    Object.keys((await session.jsm.streams.info(stream, { subjects_filter: '>' })).state.subjects ?? {});
  const names = await session.jsm.streams.names().next();
  expect(names.filter((name) => !/^(?:KV_)?(?:acme|other)-/.test(name))).toEqual([]);
  expect(names).toHaveLength(2 * 9);
  for (const name of names) {
    const prefix = name.includes('acme-') ? 'acme-' : 'other-';
    for (const subject of await subjectsOf(name)) expect(subject.replace('$KV.', '')).toMatch(new RegExp(`^${prefix}`));
  }
  const captures = (await subjectsOf('KV_other-db')).filter((subject) => subject.includes('.capture.'));
  expect(captures.map((subject) => subject.split('.').at(-1))).toEqual([waiting.data.uuid]);
  expect(await subjectsOf('other-CAPTURES')).toHaveLength(1);
  await session.nc.close();
  // The permissions have the prefix, too.
  expect(broker.violations()).toEqual([]);
});
