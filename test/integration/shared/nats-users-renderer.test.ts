import { randomUUID } from 'node:crypto';
import { headers } from '@nats-io/nats-core';
import { describe, expect, test } from 'vitest';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import { storeHtml } from '@webcapture/shared/files/stored-html.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { publishHeartbeat, withdrawHeartbeat } from '@webcapture/shared/queue/publish-heartbeat.ts';
import { fleetKey } from '@webcapture/shared/queue/heartbeat.ts';
import { maxTicketLength } from '@webcapture/shared/queue/tickets.ts';
import { newFile } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { TestQueue, TestRenderer } from '../renderer/support/renderer.ts';
import { isDeaf, isRefused, useNatsUsers } from './support/nats-users.ts';

const { broker, all, renderer } = useNatsUsers();

const heartbeat = {
  pod: 'pod',
  instance: 'one',
  region: 'us-east',
  version: '0',
  slots: 1,
  busy: 0,
  browser: 'up',
  draining: false,
  recent: { ended: 0, internalFailures: 0, queueWaitP95Ms: 0 },
  jobs: [],
  at: 0,
} as const;

describe('a renderer', () => {
  test('takes jobs, reads their HTML, uploads files, publishes results and replies', async () => {
    const queue = new TestQueue(all());
    const replies: string[] = [];
    all().nc.subscribe('replies.us-east.front.*', { callback: (_, { subject }) => void replies.push(subject) });
    await storeHtml(all(), { region: 'us-east', name: 'stored' }, 'x'.repeat(600_000), Date.now() + 60_000);
    await all().nc.flush();
    const violations = broker().violations().length;
    const pod = new TestRenderer(renderer(), { slots: 2 });
    const reply = (name: string) => ({ reply: { subject: `replies.us-east.front.${name}`, wants: 'bytes' } }) as const;
    await queue.publish({}, reply('a'));
    await queue.publish({ html: 'stored', url: 'about:blank' }, reply('b'));
    await queue.publish({ priority: 'background' });
    await until('all results', async () => (await queue.results()).length === 3 && (await queue.queued()) === 0);
    expect((await queue.outcomes()).map(({ kind }) => kind)).toEqual(['completed', 'completed', 'completed']);
    await until('both replies', () => replies.length === 2);
    await pod.stop();
    expect(broker().violations().slice(violations)).toEqual([]);
  });

  test('publishes and withdraws its heartbeat', async () => {
    const live = new Entries(renderer(), 'live');
    const found = () => new Entries(all(), 'live').get(fleetKey('us-east', 'pod'));
    await publishHeartbeat(live, heartbeat);
    expect((await found())?.value).toEqual(heartbeat);
    await withdrawHeartbeat(live, 'us-east', 'pod');
    expect(await found()).toBeNull();
  });

  test('gets several jobs with one pull request', async () => {
    const jobs: string[] = [];
    renderer().nc.subscribe('_INBOX.renderer.us-east.jobs', { callback: (_, job) => void jobs.push(job.string()) });
    for (const job of ['a', 'b']) await all().js.publish('captures.us-east.background.7', job);
    renderer().nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${captures}.us-east-background-7`, '{"batch":2}', {
      reply: '_INBOX.renderer.us-east.jobs',
    });
    await until('both jobs', () => jobs.length === 2);
  });

  const { captures, files, results } = streamNames;
  const consumerCalls = ['INFO', 'DURABLE.CREATE', 'DELETE', 'PAUSE', 'LEADER.STEPDOWN', 'UNPIN', 'RESET'];
  const streamCalls = [
    'INFO',
    'CREATE',
    'UPDATE',
    'DELETE',
    'PURGE',
    'MSG.DELETE',
    'MSG.GET',
    'SNAPSHOT',
    'RESTORE',
    'LEADER.STEPDOWN',
    'PEER.REMOVE',
  ];
  test.each([
    // Jobs: pulling jobs of other regions, and publishing jobs.
    `$JS.API.CONSUMER.MSG.NEXT.${captures}.eu-west-interactive`,
    `$JS.API.CONSUMER.MSG.NEXT.${captures}.eu-west-background-0`,
    `$JS.API.CONSUMER.MSG.NEXT.${captures}.us-east-background-8`,
    `$JS.API.CONSUMER.MSG.NEXT.${results}.settle`,
    '$JS.API.CONSUMER.MSG.NEXT.TASKS.tasks-expiry',
    '$JS.API.CONSUMER.MSG.NEXT.DEAD.dead-letters',
    'captures.us-east.interactive',
    'captures.us-east.background.0',
    'captures.eu-west.interactive',
    // Acknowledgements.
    `$JS.ACK.${captures}.eu-west-interactive.1.1.1.1700000000000000000.0`,
    `$JS.ACK._._.${captures}.eu-west-interactive.1.1.1.1700000000000000000.0`,
    `$JS.ACK.hub.account.${captures}.eu-west-background-3.1.1.1.1700000000000000000.0.x`,
    `$JS.ACK.${results}.settle.1.1.1.1700000000000000000.0`,
    `$JS.ACK._._.${results}.settle.1.1.1.1700000000000000000.0`,
    '$JS.ACK.TASKS.tasks-webhook.1.1.1.1700000000000000000.0',
    '$JS.ACK.DEAD.dead-letters.1.1.1.1700000000000000000.0',
    // Messages of other services.
    'results.eu-west.a',
    'results.us-east.a.b',
    'replies.eu-west.front.a',
    'replies.any',
    'signals.us-east',
    'signals.eu-west',
    '_INBOX.front.a',
    '_INBOX.renderer.eu-west.a',
    '_INBOX.controller.a',
    'tasks.expiry.a',
    'later.webhook.a',
    'expiry.20260101.0000',
    // Key-value buckets: all reads, and all writes except that of the renderer's own heartbeat.
    ...['db', 'live', 'cache'].flatMap((bucket) => [
      `$JS.API.STREAM.MSG.GET.KV_${bucket}`,
      `$JS.API.DIRECT.GET.KV_${bucket}`,
      `$JS.API.DIRECT.GET.KV_${bucket}.$KV.${bucket}.a`,
      `$JS.API.CONSUMER.CREATE.KV_${bucket}`,
      `$JS.API.CONSUMER.CREATE.KV_${bucket}.name`,
      `$JS.API.CONSUMER.CREATE.KV_${bucket}.name.$KV.${bucket}.a`,
      `$JS.API.CONSUMER.DURABLE.CREATE.KV_${bucket}.name`,
      `$KV.${bucket}.a`,
    ]),
    '$JS.API.DIRECT.GET.KV_db.$KV.db.secret.tickets',
    '$JS.API.DIRECT.GET.KV_live.$KV.live.fleet.us-east.pod',
    '$KV.db.secret.tickets',
    '$KV.db.usage.a.202601.3',
    '$KV.db.capture.a.20260101.u',
    '$KV.live.leader',
    '$KV.live.status',
    '$KV.live.limit.a',
    '$KV.live.fleet.eu-west.pod',
    '$KV.live.fleet.us-east.pod.more',
    // Files: reading, listing and removing; writing parts of other regions, heads and HTML.
    `$JS.API.DIRECT.GET.${files}`,
    `$JS.API.DIRECT.GET.${files}.files.part.us-east.a.b.0`,
    `$JS.API.DIRECT.GET.${files}.files.head.a.1`,
    `$JS.API.DIRECT.GET.${files}.files.html.eu-west.a.head`,
    `$JS.API.CONSUMER.CREATE.${files}.name.files.part.us-east.>`,
    'files.part.eu-west.a.b.0',
    'files.part.a.b.0',
    'files.head.a.1',
    'files.html.us-east.a.head',
    'files.html.eu-west.a.head',
    // The API of streams and consumers, and of the server.
    ...Object.values(streamNames).flatMap((stream) => [
      ...streamCalls.map((call) => `$JS.API.STREAM.${call}.${stream}`),
      `$JS.API.CONSUMER.NAMES.${stream}`,
      `$JS.API.CONSUMER.LIST.${stream}`,
      `$JS.API.CONSUMER.CREATE.${stream}.name`,
    ]),
    ...consumerCalls.map((call) => `$JS.API.CONSUMER.${call}.${captures}.us-east-interactive`),
    '$JS.API.INFO',
    '$JS.API.STREAM.NAMES',
    '$JS.API.STREAM.LIST',
    '$JS.API.META.LEADER.STEPDOWN',
    '$JS.API.SERVER.REMOVE',
    '$JS.API.ACCOUNT.PURGE.A',
    `$JS.FC.${captures}.us-east-interactive.a`,
    '$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.CAPTURES.us-east-interactive',
    '$SYS.REQ.SERVER.PING',
    '$SYS.REQ.USER.INFO',
    'anything',
  ])('may not publish to %s', async (subject) => {
    await isRefused(renderer(), subject);
  });

  test.each([
    '>',
    'captures.>',
    'results.>',
    'results.us-east.*',
    'replies.>',
    'replies.us-east.*.*',
    'signals.*',
    'signals.eu-west',
    '$KV.>',
    '$KV.db.>',
    '$KV.live.fleet.us-east.*',
    '$KV.cache.>',
    'files.>',
    'tasks.>',
    '_INBOX.>',
    '_INBOX.front.>',
    '_INBOX.renderer.>',
    '_INBOX.renderer.eu-west.>',
    '_INBOX.controller.>',
    '$JS.>',
    '$JS.API.>',
    '$JS.ACK.>',
    '$JS.EVENT.>',
    '$SYS.>',
  ])('may not subscribe to %s', async (subject) => {
    await isDeaf(renderer(), subject);
    await isDeaf(renderer(), subject, 'a-queue');
  });

  test('cannot overwrite a part of a file, not even its own', async () => {
    const { file, subject } = await stored();
    await expect(renderer().js.publish(subject, 'other bytes')).rejects.toThrow(/per subject/i);
    await expect(renderer().js.publish(subject, '')).rejects.toThrow(/per subject/i);
    expect(await readBack(file.name)).toEqual(file.bytes);
  });

  test.each([
    ['Nats-Rollup', 'all'],
    ['Nats-Rollup', 'sub'],
    ['Nats-Schedule', '@every 1s'],
    ['Nats-Batch-Id', 'a'],
    ['Nats-Incr', '+1'],
    ['KV-Operation', 'PURGE'],
    ['Nats-Marker-Reason', 'Purge'],
  ])('cannot remove or change data of others with the header %s: %s', async (name, value) => {
    const { file, subject } = await stored();
    await publishHeartbeat(new Entries(all(), 'live'), { ...heartbeat, pod: 'other', region: 'eu-west' });
    await new Entries(all(), 'live').put('status', { is: 'well' });
    await all().js.publish('results.eu-west.kept', '{}');
    const count = async () => (await all().jsm.streams.info(streamNames.results)).state.messages;
    const before = await count();
    const fields = headers();
    fields.set(name, value);
    if (name === 'Nats-Schedule') fields.set('Nats-Schedule-Target', 'files.head.a.1');
    if (name === 'Nats-Batch-Id') {
      fields.set('Nats-Batch-Sequence', '1');
      fields.set('Nats-Batch-Commit', '1');
    }
    const targets = [
      subject,
      `files.part.us-east.${randomUUID()}.x.0`,
      '$KV.live.fleet.us-east.pod',
      `results.us-east.${randomUUID()}`,
    ];
    for (const target of targets)
      await renderer()
        .js.publish(target, '{}', { headers: fields })
        .catch(() => undefined);
    expect(await readBack(file.name)).toEqual(file.bytes);
    expect((await new Entries(all(), 'live').get(fleetKey('eu-west', 'other')))?.value).toMatchObject({ pod: 'other' });
    expect((await new Entries(all(), 'live').get('status'))?.value).toEqual({ is: 'well' });
    expect(await count()).toBeGreaterThanOrEqual(before);
    await expect(
      all().jsm.streams.getMessage(streamNames.files, { last_by_subj: 'files.head.a.1' }),
    ).resolves.toBeNull();
  });

  test('cannot publish a result that exceeds the maximum size', async () => {
    await expect(
      renderer().js.publish(`results.us-east.${randomUUID()}`, Buffer.alloc(maxTicketLength + 300_000)),
    ).rejects.toThrow(/maximum/i);
  });
});

/** Stores a file that a renderer of the region has uploaded. */
async function stored() {
  const file = newFile(1000);
  const { expiresAt, name } = file;
  const upload = await new EmbeddedUploader(renderer()).upload(file).stored;
  const expected = {
    name,
    object: name,
    account: 'acme',
    region: 'us-east',
    contentType: 'image/png',
    expiresAt,
    isRefresh: false,
  } as const;
  await new EmbeddedStore(all()).accept(upload, expected);
  const { state } = await all().jsm.streams.info(streamNames.files, {
    subjects_filter: `files.part.us-east.${name.replaceAll('.', '_')}.>`,
  });
  const [subject = ''] = Object.keys(state.subjects ?? {});
  expect(subject).toMatch(/^files\.part\.us-east\./);
  return { file, subject };
}

async function readBack(name: string): Promise<Buffer> {
  const store = new EmbeddedStore(all());
  const file = await store.stat(name);
  if (file === null) throw new Error('the file is gone');
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.read(file)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
