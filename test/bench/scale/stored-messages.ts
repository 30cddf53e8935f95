import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { until } from '../../harness/until.ts';
import { ask, startService } from './service.ts';
import { round, type Goals } from '../goals.ts';

const captures = 50;
/** The number of captures with a pause between them. */
const alone = 5;
const goal = 8;

/** Size of a file. It is smaller than a part of the embedded store, so the file consists of a part and a head. */
const fileBytes = 100_000;

/** The content that each stream gets for a capture. */
const contents: Readonly<Record<string, string>> = {
  [streamNames.db]: 'record and usage',
  [streamNames.live]: 'reservation',
  [streamNames.captures]: 'job',
  [streamNames.results]: 'result, by the renderer',
  [streamNames.files]: 'part, by the renderer; head',
  [streamNames.expiry]: 'expiry',
  [streamNames.tasks]: 'guards of the job',
};

/** Messages and bytes stored so far, by stream. */
type Stored = ReadonlyMap<string, { readonly messages: number; readonly bytes: number }>;

/**
 * Measures the messages that JetStream stores for a capture. Each message is a disk write; with three nodes it is written on three disks.
 */
export async function benchStoredMessages(goals: Goals): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const { session, front } = await startService(parts);
  const renderer = new StandInRenderer(session, 'us-east');
  renderer.bytes = Buffer.alloc(fileBytes, 'x');
  await renderer.start();
  parts.defer(() => renderer.stop());
  const counted = countMessages(session);
  const interactive = async (number: number) => {
    const { data } = await ask(front, '/capture', { url: `https://example.com/${number}` });
    counted.uuids.push(String(data['uuid']));
  };
  const background = async (number: number) => {
    const { data } = await ask(front, '/capture', { url: `https://example.com/${number}`, background: true });
    counted.uuids.push(String(data['uuid']));
    await until('a background capture to end', async () => {
      const found = await ask(front, `/captures/${String(data['uuid'])}`);
      return found.data['status'] === 'completed';
    });
  };
  await until('the first capture', () => interactive(0).then(() => true));
  await background(0);
  const reservations = new Map<Kind, number>();
  for (const [kind, capture] of [
    ['an interactive', interactive],
    ['a background', background],
  ] as const satisfies readonly [Kind, unknown][]) {
    await settled(session);
    const before = await storedIn(session);
    counted.clear();
    for (let number = 1; number <= captures; number++) await capture(number);
    // A release is written with the next admission, but the last capture is not followed by one.
    const limits = counted.limits();
    await settled(session);
    const after = await storedIn(session);
    const counts = new Map(
      [...after].map(([name, { messages }]) => [name, messages - (before.get(name)?.messages ?? 0)]),
    );
    counts.set(streamNames.live, limits);
    counts.set(streamNames.files, counted.files());
    goals.title(`Stored messages of ${kind} capture, average of ${captures} sequential captures`);
    for (const [name, count] of counts) {
      if (count === 0) continue;
      const bytes = ((after.get(name)?.bytes ?? 0) - (before.get(name)?.bytes ?? 0)) / captures;
      const kept = name === streamNames.live || bytes <= 0 ? '' : `, ${round(bytes)} B remain`;
      goals.note(`${name}: ${contents[name] ?? 'unexpected'}`, `${round(count / captures)}${kept}`);
    }
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0) / captures;
    if (kind === 'an interactive') goals.atMost('all', all, goal);
    else goals.note('all', round(all));
    reservations.set(kind, limits / captures);
  }
  counted.clear();
  for (let number = 1; number <= alone; number++) {
    await interactive(number);
    await sleep(1000);
  }
  const more = counted.limits() / alone - (reservations.get('an interactive') ?? Number.NaN);
  goals.note('more for a single interactive capture, whose release is written alone', round(more));
}

type Kind = 'an interactive' | 'a background';

/** Counts messages in streams that also contain other messages: heartbeats, the status, and files that probe the store. */
function countMessages({ nc }: NatsSession) {
  const uuids: string[] = [];
  const fileSubjects: string[] = [];
  let limits = 0;
  nc.subscribe('$KV.live.limit.>', { callback: () => void limits++ });
  nc.subscribe('files.>', { callback: (_error, { subject }) => void fileSubjects.push(subject) });
  return {
    uuids,
    clear() {
      limits = 0;
      uuids.length = 0;
      fileSubjects.length = 0;
    },
    limits: () => limits,
    files: () => fileSubjects.filter((subject) => uuids.some((uuid) => subject.includes(uuid))).length,
  };
}

async function storedIn({ jsm }: NatsSession): Promise<Stored> {
  const stored = new Map<string, { messages: number; bytes: number }>();
  for (const name of Object.values(streamNames)) {
    const { state } = await jsm.streams.info(name);
    stored.set(name, { messages: state.last_seq, bytes: state.bytes });
  }
  return stored;
}

/** Waits until the streams that change only with captures are unchanged for 2 s. */
async function settled(session: NatsSession): Promise<void> {
  const total = async () => {
    const stored = [...(await storedIn(session))].filter(
      ([name]) => name !== streamNames.live && name !== streamNames.files,
    );
    return stored.reduce((sum, [, { messages }]) => sum + messages, 0);
  };
  await until('the streams to rest', async () => {
    const before = await total();
    await sleep(2000);
    return (await total()) === before;
  });
}
