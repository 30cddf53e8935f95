import { randomUUID } from 'node:crypto';
import type { ConsumerConfig, StreamConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import type { CaptureSource } from '@webcapture/shared/queue/job.ts';
import type { Priority } from '@webcapture/shared/nats/streams.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { backgroundShardOf } from '@webcapture/shared/queue/jobs.ts';

/** What version 0.1 left on a server, by its own words: nothing here may change with the services. */

const shards = 8;

const bucket = (name: string, more: Partial<StreamConfig> = {}) => ({
  name: `KV_${name}`,
  subjects: [`$KV.${name}.>`],
  retention: 'limits' as const,
  max_msgs_per_subject: 1,
  discard: 'new' as const,
  allow_direct: true,
  allow_rollup_hdrs: true,
  allow_msg_ttl: true,
  deny_delete: true,
  ...more,
});

const streams: readonly (Partial<StreamConfig> & { name: string })[] = [
  bucket('db', { allow_atomic: true }),
  bucket('live', { subject_delete_marker_ttl: nanos(60_000) }),
  bucket('cache', { discard: 'old', max_age: nanos(2_592_000_000), max_bytes: 16 * 1024 * 1024 }),
  {
    name: 'CAPTURES',
    subjects: ['captures.>'],
    retention: 'workqueue',
    discard: 'new',
    allow_direct: true,
    duplicate_window: nanos(10 * 60_000),
  },
  {
    name: 'TASKS',
    subjects: ['tasks.>', 'later.>'],
    retention: 'workqueue',
    discard: 'old',
    allow_msg_schedules: true,
    allow_direct: true,
  },
  {
    name: 'DEAD',
    subjects: [
      '$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.CAPTURES.>',
      '$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.CAPTURES.>',
    ],
    retention: 'workqueue',
    discard: 'old',
    max_age: nanos(7 * 86_400_000),
  },
  {
    name: 'FILES',
    subjects: ['files.>'],
    retention: 'limits',
    discard: 'new',
    max_msgs_per_subject: 1,
    allow_direct: true,
    allow_rollup_hdrs: true,
    allow_msg_ttl: true,
  },
];

const explicit = { ack_policy: 'explicit' as const };

function consumers(region: Region): { stream: string; config: Partial<ConsumerConfig> }[] {
  const capture = (durable_name: string, filter_subject: string) => ({
    stream: 'CAPTURES',
    config: {
      ...explicit,
      durable_name,
      filter_subject,
      ack_wait: nanos(5000),
      max_deliver: 3,
      max_ack_pending: 20_000,
      max_waiting: 4096,
    },
  });
  return [
    capture(`${region}-interactive`, `captures.${region}.interactive`),
    ...Array.from({ length: shards }, (_, shard) =>
      capture(`${region}-background-${shard}`, `captures.${region}.background.${shard}`),
    ),
    ...['dispatch', 'expiry', 'refresh', 'webhook'].map((kind) => ({
      stream: 'TASKS',
      config: {
        ...explicit,
        durable_name: `tasks-${kind}`,
        filter_subject: `tasks.${kind}.>`,
        ack_wait: nanos(30_000),
        max_ack_pending: 100_000,
      },
    })),
    { stream: 'DEAD', config: { ...explicit, durable_name: 'dead-letters', ack_wait: nanos(30_000) } },
  ];
}

/** Makes the streams and durables of a server that serves one region. */
export async function provisionVersion01({ jsm }: NatsSession, region: Region): Promise<void> {
  for (const config of streams) await jsm.streams.add({ storage: 'file', num_replicas: 1, ...config });
  for (const { stream, config } of consumers(region)) await jsm.consumers.add(stream, config);
}

export interface OldJob {
  readonly revision?: number;
  readonly lane?: Priority;
  /** Absent: the address, or the html, that the record names. */
  readonly source?: CaptureSource | { readonly kind: 'stored-html'; readonly fileName: string };
}

/** Queues a job of a record, or of its refresh. */
export async function queueOldJob({ js }: NatsSession, record: CaptureRecord, job: OldJob = {}): Promise<void> {
  const { uuid, account, region, options, fileName, url, html } = record;
  const { revision = 0, lane = revision === 0 ? record.lane : 'background' } = job;
  const { acceptedAt, startBy, deadline } = revision === 0 ? record : (record.refresh ?? record);
  const source = html === undefined ? { kind: 'url', url } : { kind: 'stored-html', fileName: html };
  const message = {
    version: 1,
    uuid,
    revision,
    account,
    region,
    lane,
    acceptedAt,
    startBy,
    deadline,
    ...(lane === 'interactive' ? { resultSubject: `results.front-1.${uuid}` } : {}),
    wantsBytes: lane === 'interactive',
    fileName,
    source: job.source ?? source,
    options,
  };
  const queue = lane === 'interactive' ? lane : `background.${backgroundShardOf(account, shards)}`;
  await js.publish(`captures.${region}.${queue}`, JSON.stringify(message), { msgID: `${uuid}:${revision}` });
}

/** Puts html where the renderers of version 0.1, of any region, read it. */
export async function putOldHtml({ js }: NatsSession, name: string, html: string): Promise<void> {
  await js.publish(`files.html.${name}.0`, html, { ttl: '3600s' });
  await js.publish(`files.html.${name}.head`, JSON.stringify({ parts: 1, size: Buffer.byteLength(html) }), {
    ttl: '3600s',
  });
}

/** Stores the file of a capture that completed. */
export async function storeOldFile({ js }: NatsSession, record: CaptureRecord, bytes: Buffer): Promise<void> {
  const { fileName: name, expiresAt, options } = record;
  const generation = randomUUID();
  const head = {
    name,
    contentType: 'image/png',
    size: bytes.length,
    etag: 'of-version-01',
    storedAt: Date.now(),
    expiresAt,
    width: options.viewport.width,
    height: options.viewport.height,
    cacheSeconds: 300,
    parts: 1,
    generation,
  };
  const token = name.replaceAll('.', '_');
  await js.publish(`files.part.${token}.${generation}.0`, bytes, { ttl: '3600s' });
  await js.publish(`files.head.${token}`, JSON.stringify(head), { ttl: '3600s' });
}
