import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { watchKeys } from '@webcapture/shared/nats/watch.ts';
import { publishHeartbeat } from '@webcapture/shared/queue/publish-heartbeat.ts';
import { fleetConfigKey, readFleetConfig } from '@webcapture/shared/queue/fleet-config.ts';
import { readCommonConfig } from '@webcapture/shared/runtime/config.ts';
import { EnvReader } from '@webcapture/shared/runtime/env.ts';
import { startNats, type NatsServer } from '../../../deploy/local/nats.ts';
import { accountsOf, mainAccount } from '../../../deploy/local/nats-users.ts';
import { provision } from '../../../services/controller/streams.ts';
import { freePort } from '../../harness/free-port.ts';
import { silentLog, streamSettings } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { heartbeat } from '../controller/support/facts.ts';
import { TestQueue, TestRenderer } from '../renderer/support/renderer.ts';

const region = 'asia-southeast';
const password = 'a-password';

// A hub, and a leaf node in the cluster of a satellite, which has its streams in another domain.
const servers: NatsServer[] = [];
const lines: string[] = [];
const sessions: NatsSession[] = [];
let hub: NatsSession;
let leafUrl: string;
beforeAll(async () => {
  const leafPort = await freePort();
  const start = async (domain: string, config: object) => {
    const dataDir = await mkdtemp(join(inject('tempFolder'), `${domain}-`));
    const server = await startNats({
      dataDir,
      toolPath: inject('tools').natsServer,
      serverName: domain,
      // If a key occurs twice, the server uses the last one.
      config: `jetstream: ${JSON.stringify({ store_dir: dataDir, domain })}\n${JSON.stringify(config).slice(1, -1)}\n`,
      log: (line) => lines.push(line),
    });
    servers.push(server);
    return server.url;
  };
  const operator = { user: 'operator', password };
  const hubUrl = await start('hub', {
    leafnodes: { host: '127.0.0.1', port: leafPort },
    accounts: accountsOf([], { others: [operator] }),
  });
  leafUrl = await start('edge', {
    leafnodes: { remotes: [{ url: `nats://operator:${password}@127.0.0.1:${leafPort}`, account: mainAccount }] },
    accounts: accountsOf(
      (['renderer', 'satellite'] as const).map((service) => ({
        service,
        region,
        user: `${service}-${region}`,
        password,
      })),
      { domain: 'hub' },
    ),
  });
  await until('the leaf node to join', () => lines.some((line) => line.includes('Leafnode connection created')));
  hub = await connect({ WEBCAPTURE_NATS_URL: hubUrl, WEBCAPTURE_NATS_USER: 'operator' }, '_INBOX');
  await provision(hub.jsm, streamSettings, [region]);
});
afterAll(async () => {
  for (const { nc } of sessions) await nc.close();
  for (const { process } of servers) await process.stop({ graceMs: 0 });
});

/** Connects as a service with these variables does. */
async function connect(variables: Readonly<Record<string, string>>, inboxPrefix: string): Promise<NatsSession> {
  const env = { WEBCAPTURE_NATS_PASSWORD: password, ...variables };
  const { nats } = new EnvReader(env).finish(() => readCommonConfig(new EnvReader(env), { opsPort: 0 }));
  const signal = AbortSignal.timeout(30_000);
  const session = await connectNats({ ...nats, name: 'test', inboxPrefix, log: silentLog, signal });
  sessions.push(session);
  return session;
}

const atLeaf = (service: 'renderer' | 'satellite', domain = 'hub') =>
  connect(
    {
      WEBCAPTURE_NATS_URL: leafUrl,
      WEBCAPTURE_NATS_USER: `${service}-${region}`,
      ...(domain === '' ? {} : { WEBCAPTURE_NATS_DOMAIN: domain }),
    },
    `_INBOX.${service}.${region}`,
  );

test('a renderer behind a leaf node takes jobs of the fleet, stores files and publishes results', async () => {
  const session = await atLeaf('renderer');
  const heard: string[] = [];
  const stop = new AbortController();
  const following = watchKeys(
    hub,
    { bucket: 'live', filter: 'fleet.>', log: silentLog, signal: stop.signal },
    { reset: () => undefined, change: ({ key }) => heard.push(key) },
  );
  const queue = new TestQueue(hub);
  const renderer = new TestRenderer(session, { region });
  await queue.publish({ region });
  await queue.publish({ region, priority: 'background' });
  await until('the results', async () => (await queue.results()).length === 2);
  expect((await queue.outcomes()).map(({ kind }) => kind)).toEqual(['completed', 'completed']);
  await until('the jobs to be acknowledged', async () => (await queue.queued()) === 0);
  await publishHeartbeat(new Entries(session, 'live'), heartbeat('a-pod', { region }));
  await until('its heartbeat', () => heard.length > 0);
  expect(heard).toEqual([`fleet.${region}.a-pod`]);
  stop.abort();
  await Promise.all([following, renderer.stop()]);
});

test('the controller of a satellite reads the configuration from the hub, and reports to it', async () => {
  await new Entries(hub, 'live').put(fleetConfigKey, { format: 1 });
  const session = await atLeaf('satellite');
  const live = new Entries(session, 'live', 'by-subject');
  expect((await readFleetConfig(live))?.value).toEqual({ format: 1 });
  await live.put(`cluster.${region}.uid`, { at: 1 });
  expect((await new Entries(hub, 'live').get(`cluster.${region}.uid`))?.value).toEqual({ at: 1 });
  // The satellite receives the heartbeats of its cluster.
  const heard: string[] = [];
  session.nc.subscribe(`${session.kvPrefix}.live.fleet.*.*`, {
    callback: (_, { subject }) => void heard.push(subject),
  });
  await session.nc.flush();
  await publishHeartbeat(new Entries(await atLeaf('renderer'), 'live'), heartbeat('a-pod', { region }));
  await until('the heartbeat', () => heard.length > 0);
  expect(heard).toEqual([`$JS.hub.API.$KV.live.fleet.${region}.a-pod`]);
});

test('without the domain, the configuration is looked for in the leaf node, and not found', async () => {
  await expect(readFleetConfig(new Entries(await atLeaf('satellite', ''), 'live', 'by-subject'))).rejects.toThrow();
});
