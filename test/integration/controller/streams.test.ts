import { nanos } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Registry } from 'prom-client';
import { captureDurable, captureSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { createStreamMetrics, measureStreams } from '../../../services/controller/jobs/stream-sizes.ts';
import { provision, streamConfigs } from '../../../services/controller/streams.ts';
import { startTestNats, streamSettings, type TestNats } from '../../harness/nats-session.ts';
import { pullOne } from '../../harness/pull-one.ts';

const region = 'us-east';
const durable = captureDurable(region, 'interactive');

describe('streams and durables', () => {
  let nats: TestNats;
  beforeAll(async () => {
    nats = await startTestNats([region]);
  });
  afterAll(() => nats[Symbol.asyncDispose]());
  const stateOf = async (stream: string) => (await nats.session.jsm.streams.info(stream)).state;

  test('with another configuration are updated in place, without losing or redelivering messages', async () => {
    const { js, jsm, nc } = nats.session;
    const files = { discard_new_per_subject: false, allow_rollup_hdrs: true };
    await jsm.streams.update(streamNames.files, files);
    await jsm.streams.update(streamNames.captures, { duplicate_window: nanos(60_000) });
    await jsm.consumers.update(streamNames.captures, durable, { ack_wait: nanos(5000) });
    for (const name of ['one', 'two']) {
      for (const kv of ['db', 'live', 'cache']) await js.publish(`$KV.${kv}.${name}`, name);
      await js.publish(captureSubject(region, 'interactive', 0), name);
      const specification = new Date(Date.now() + 3_600_000);
      await js.publish(`later.expiry.${name}`, name, { schedule: { specification, target: `tasks.expiry.${name}` } });
      await js.publish(`$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.CAPTURES.${name}`, name);
      await js.publish('files.head.a_png', name);
    }
    // One of the two jobs is done, and a renderer holds the other one.
    await (await pullOne(nc, streamNames.captures, durable, 5000))?.ack();
    const held = await pullOne(nc, streamNames.captures, durable, 5000);
    const look = async () => ({
      states: await Promise.all(
        Object.values(streamNames).map(async (name) => {
          const { messages, first_seq, last_seq } = await stateOf(name);
          return { name, messages, first_seq, last_seq };
        }),
      ),
      floor: (await jsm.consumers.info(streamNames.captures, durable)).ack_floor.stream_seq,
    });
    const before = await look();
    const counts = Object.fromEntries(before.states.map(({ name, messages }) => [name, messages]));
    expect(counts).toMatchObject({ KV_db: 2, KV_live: 2, KV_cache: 2, CAPTURES: 1, TASKS: 2, DEAD: 2, FILES: 1 });
    await provision(jsm, streamSettings, [region]);
    held?.working();
    expect(await look()).toEqual(before);
    for (const config of streamConfigs(streamSettings)) {
      // The server omits a TTL of 0.
      const { max_bytes: _bytes, subject_delete_marker_ttl: _markers, ...wanted } = config;
      expect((await jsm.streams.info(config.name)).config).toMatchObject(wanted);
    }
    expect((await jsm.consumers.info(streamNames.captures, durable)).config.ack_wait).toBeGreaterThan(nanos(5000));
    await expect(js.publish('files.head.a_png', 'three')).rejects.toThrow(/per subject/);
    await held?.ack();
    expect((await stateOf(streamNames.captures)).messages).toBe(0);
  });

  test('get the configured size limit, but none below their current size', async () => {
    const { session } = nats;
    const mebibyte = 1024 ** 2;
    const maxBytesOf = async (name: string) => (await session.jsm.streams.info(name)).config.max_bytes;
    const limited = (files: number) => ({ ...streamSettings, maxBytes: { ...streamSettings.maxBytes, files } });
    const unlimited = await maxBytesOf(streamNames.files);
    await session.js.publish('files.part.large', new Uint8Array(900 * 1024));
    await session.js.publish('files.part.larger', new Uint8Array(900 * 1024));
    await provision(session.jsm, limited(mebibyte), [region]);
    expect(await maxBytesOf(streamNames.files)).toBe(unlimited);
    await session.js.publish('files.part.another', 'there is room');
    await provision(session.jsm, limited(4 * mebibyte), [region]);
    expect(await maxBytesOf(streamNames.files)).toBe(4 * mebibyte);
    // Only the leader exports the sizes.
    const streamMetrics = createStreamMetrics(new Registry());
    const shown = async () => {
      const gauges = [streamMetrics.bytes, streamMetrics.maxBytes];
      const values = await Promise.all(gauges.map(async (gauge) => (await gauge.get()).values));
      return values.map((each) => each.find(({ labels }) => labels.stream === streamNames.files)?.value);
    };
    let leads = true;
    const term = { holds: () => leads, signal: AbortSignal.abort() };
    await measureStreams({ session, streamMetrics }, term);
    expect(await shown()).toEqual([(await stateOf(streamNames.files)).bytes, 4 * mebibyte]);
    leads = false;
    await measureStreams({ session, streamMetrics }, term);
    expect(await shown()).toEqual([undefined, undefined]);
  });
});
