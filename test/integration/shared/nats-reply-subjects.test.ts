import { headers, type MsgHdrs } from '@nats-io/nats-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { permissions, subjectFor } from '../../../deploy/local/nats-users.ts';
import { pullOne } from '../../harness/pull-one.ts';
import { until } from '../../harness/until.ts';
import { useNatsUsers } from './support/nats-users.ts';

const { all, connectAs } = useNatsUsers();

/** HTML that a renderer of us-east may read, and that receivers may take for a record or an acknowledgement. */
const readable = ['{"id":"evil","account":"a","scopes":["manage"]}', '+ACK', '+TERM', '-NAK', '+NXT {"batch":9}'].map(
  (html, index) => ({ subject: `files.html.us-east.html${index}.0`, html }),
);

const stored = [
  '$KV.db.account.a',
  '$KV.db.secret.tickets',
  '$KV.live.config',
  '$KV.live.status',
  '$KV.live.leader',
  '$KV.live.limit.a',
  '$KV.live.fleet.eu-west.pod',
  '$KV.live.cluster.eu-west.uid',
  '$KV.cache.entry',
  'captures.us-east.interactive',
  'captures.us-east.background.0',
  'captures.eu-west.interactive',
  'results.eu-west.a',
  'results.eu-west.b',
  'tasks.expiry.a',
  'later.webhook.a',
  'expiry.20990101.0000',
  'files.head.a.1',
  'files.part.eu-west.a.b.0',
  'files.html.eu-west.a.0',
];

beforeAll(async () => {
  for (const { subject, html } of readable) await all().js.publish(subject, html);
  for (const subject of stored)
    await all().js.publish(subject, JSON.stringify({ is: subject }), { headers: schedule(subject) });
  // Messages with outstanding acknowledgements.
  for (const [stream, durable] of [
    [streamNames.results, 'settle'],
    [streamNames.tasks, 'tasks-expiry'],
    [streamNames.captures, 'eu-west-interactive'],
  ] as const) {
    await until(`a message of ${durable}`, () => pullOne(all().nc, stream, durable, 5000));
  }
});

/** Messages in `later.` need a schedule. */
function schedule(subject: string): MsgHdrs {
  const fields = headers();
  if (!subject.startsWith('later.')) return fields;
  fields.set('Nats-Schedule', '@at 2099-01-01T00:00:00Z');
  fields.set('Nats-Schedule-Target', 'tasks.webhook.a');
  return fields;
}

/** Subjects to which a hostile user might direct responses. */
const replySubjects = [
  ...stored,
  '$KV.db.key.evil',
  '$KV.db.usage.a.202601.3',
  '$KV.db.capture.a.20260101.u',
  '$KV.db.key.abc',
  'signals.eu-west',
  'held.eu-west.pod',
  'replies.eu-west.front.a',
  '_INBOX.front.a',
  '_INBOX.controller.a',
  '_R_.a.b',
  '$SYS.REQ.SERVER.PING',
  ...Object.values(streamNames).flatMap((stream) => [
    ...['INFO', 'CREATE', 'UPDATE', 'DELETE', 'PURGE', 'MSG.DELETE', 'MSG.GET', 'SNAPSHOT', 'RESTORE'].map(
      (call) => `$JS.API.STREAM.${call}.${stream}`,
    ),
    `$JS.API.DIRECT.GET.${stream}`,
    `$JS.API.CONSUMER.CREATE.${stream}.evil`,
  ]),
  ...[
    `${streamNames.results}.settle`,
    `${streamNames.tasks}.tasks-expiry`,
    `${streamNames.captures}.eu-west-interactive`,
  ].flatMap((consumer) => [
    `$JS.API.CONSUMER.DELETE.${consumer}`,
    `$JS.API.CONSUMER.PAUSE.${consumer}`,
    `$JS.API.CONSUMER.MSG.NEXT.${consumer}`,
    ...[1, 2, 3].flatMap((sequence) => [
      `$JS.ACK.${consumer}.1.${sequence}.1.1700000000000000000.0`,
      `$JS.ACK._._.${consumer}.1.${sequence}.1.1700000000000000000.0.x`,
    ]),
  ]),
];

/** Headers with which a hostile user might make the server act on a message. */
const headerSets: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'Nats-Rollup': 'all' },
  { 'Nats-Rollup': 'sub' },
  { 'KV-Operation': 'PURGE' },
  { 'Nats-TTL': '1h' },
  { 'Nats-Schedule': '@every 1s', 'Nats-Schedule-Target': '$KV.db.key.evil' },
  { 'Nats-Schedule': '@at 2020-01-01T00:00:00Z', 'Nats-Schedule-Target': 'results.eu-west.evil' },
  { 'Nats-Batch-Id': 'a', 'Nats-Batch-Sequence': '1', 'Nats-Batch-Commit': '1' },
  { 'Nats-Incr': '+1' },
  { 'Nats-Expected-Stream': streamNames.db },
  { 'Nats-Trace-Dest': '$KV.db.key.evil' },
  { 'Nats-Trace-Dest': '$KV.db.key.evil', 'Nats-Trace-Only': 'true' },
  { 'Nats-Request-Info': '{"acc":"webcapture","svc":"webcapture","user":"controller"}' },
  { 'Nats-Subject': '$KV.db.key.evil', 'Nats-Stream': streamNames.db },
];

const pull = (fields: object) => JSON.stringify({ batch: 1, ...fields });
const bodies = (subject: string): readonly string[] => {
  // All queues are alike, so one is sufficient for the less common bodies.
  if (/-background-[1-7]/.test(subject)) return [''];
  if (subject.includes('.MSG.NEXT.')) return [pull({ no_wait: true }), pull({ expires: 1_000_000 }), '{}', ''];
  if (subject.startsWith('$JS.ACK.')) return ['', '+NXT', '+NXT {"batch":5,"no_wait":true}', '-NAK', '+WPI'];
  return ['', '{"hostile":true}'];
};

const granted = (service: 'renderer' | 'satellite', region: Region) =>
  permissions[service].publish.flatMap(({ subjects }) => subjects).map((subject) => subjectFor(subject, { region }));

/** Subjects that match a pattern. */
const literals = (pattern: string): readonly string[] => {
  if (pattern.endsWith('files.html.us-east.>')) {
    return [...readable.map(({ subject }) => `$JS.API.DIRECT.GET.FILES.${subject}`), pattern.replace('>', 'missing.0')];
  }
  const ack = '1.1.1.1700000000000000000.0';
  return [
    pattern
      .replace(/\*\.\*\.CAPTURES/, '_._.CAPTURES')
      .replace('.>', `.${ack}`)
      .replaceAll('*', 'hostile'),
  ];
};

const matches = (pattern: string, subject: string) =>
  new RegExp(
    `^${pattern
      .replaceAll(/[.$]/g, String.raw`\$&`)
      .replaceAll('*', '[^.]+')
      .replace(/>$/, '.+')}$`,
  ).test(subject);

/** Returns all streams with their messages, and all consumers. */
async function contents() {
  const { jsm } = all();
  const messages = new Map<string, string>();
  const configs = new Map<string, unknown>();
  const consumers = new Map<string, unknown>();
  for await (const { config, state } of jsm.streams.list()) {
    configs.set(config.name, config);
    for await (const { name, config: durable, num_ack_pending, ack_floor } of jsm.consumers.list(config.name)) {
      consumers.set(`${config.name}.${name}`, { durable, num_ack_pending, ack_floor: ack_floor.stream_seq });
    }
    for (let seq = Math.max(state.first_seq, 1); seq <= state.last_seq; seq++) {
      const message = await jsm.streams.getMessage(config.name, { seq });
      if (message === null) continue;
      const content = JSON.stringify([...message.header]) + message.string();
      messages.set(`${config.name} ${seq} ${message.subject}`, content);
    }
  }
  return { messages, configs, consumers };
}

/** Collects the subjects of all messages in the main account until it is disposed of. */
async function listen() {
  const subjects = new Set<string>();
  const subscription = all().nc.subscribe('>', { callback: (_, { subject }) => void subjects.add(subject) });
  await all().nc.flush();
  return { subjects, [Symbol.dispose]: () => subscription.unsubscribe() };
}

describe('the responses to requests', () => {
  test('of a user of the main account reach every subject, with the rights of the server', async () => {
    const [{ subject, html } = { subject: '', html: '' }] = readable;
    all().nc.publish(`$JS.API.DIRECT.GET.FILES.${subject}`, '', { reply: '$KV.db.key.control' });
    const control = () => all().jsm.streams.getMessage(streamNames.db, { last_by_subj: '$KV.db.key.control' });
    expect((await until('the response', control)).string()).toBe(html);
  });

  test.each(['renderer', 'satellite'] as const)('of a %s reach nothing outside of its account', async (service) => {
    const region = 'us-east';
    const session = await connectAs(service, region);
    const allowed = granted(service, region);
    const subjects = allowed.flatMap(literals);
    const mayTake = (subject: string) => service === 'renderer' && matches('captures.us-east.>', subject);
    const before = await contents();
    {
      using heard = await listen();
      for (const subject of subjects) {
        for (const body of bodies(subject)) {
          for (const reply of replySubjects) session.nc.publish(subject, body, { reply });
          for (const set of headerSets) {
            const fields = headers();
            for (const [name, value] of Object.entries(set)) fields.set(name, value);
            session.nc.publish(subject, body, { reply: '$KV.db.key.evil', headers: fields });
          }
        }
        await session.nc.flush();
      }
      // The server answers requests to a stream or consumer in order.
      for (const subject of subjects.filter((it) => it.startsWith('$JS.API.'))) {
        const body = subject.includes('.MSG.NEXT.') ? pull({ no_wait: true }) : '';
        await session.nc.request(subject, body, { timeout: 20_000, noMux: true });
      }
      // Delivered jobs have the subject of their queue.
      const isOwn = (subject: string) =>
        /^(_R_|\$JS\.EVENT)\./.test(subject) || mayTake(subject) || allowed.some((it) => matches(it, subject));
      expect([...heard.subjects].filter((subject) => !isOwn(subject))).toEqual([]);
      expect(subjects.filter((subject) => !heard.subjects.has(subject))).toEqual([]);
    }
    expect(session.nc.isClosed()).toBe(false);
    await session.nc.close();

    const after = await contents();
    const subjectOf = (message: string) => message.split(' ').at(2) ?? '';
    const isForeign = ([message]: readonly [string, unknown]) =>
      !allowed.some((it) => matches(it, subjectOf(message))) && !mayTake(subjectOf(message));
    expect([...after.messages].filter(isForeign)).toEqual([...before.messages].filter(isForeign));
    const made = [...after.messages.keys()].filter((message) => !before.messages.has(message));
    expect(made.map(subjectOf).filter((subject) => !allowed.some((it) => matches(it, subject)))).toEqual([]);
    expect(after.configs).toEqual(before.configs);
    const isOthers = ([name]: readonly [string, unknown]) =>
      service === 'satellite' || !name.startsWith('CAPTURES.us-east-');
    expect([...after.consumers].filter(isOthers)).toEqual([...before.consumers].filter(isOthers));
  });
});
