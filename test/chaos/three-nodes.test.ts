// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamInfo } from '@nats-io/jetstream';
import { afterEach, expect, test } from 'vitest';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { outcomeOf, type Answer } from '../harness/api.ts';
import { silentLog } from '../harness/nats-session.ts';
import { until } from '../harness/until.ts';
import { useFleet } from '../harness/use.ts';
import { expectBalance } from './accounts-balance.ts';

const fleet = useFleet({ nodes: 3, slots: 2, fronts: 2, env: { WEBCAPTURE_QUEUE_TIMEOUT: '120' } });

/** The streams whose loss would lose captures: records and ledgers, jobs, results. */
const streams = ['KV_db', 'CAPTURES', 'RESULTS'].filter((name) => Object.values<string>(streamNames).includes(name));

/** Milliseconds between two captures of the load. */
const paceMs = 300;

/** The number of captures during a fault, within these limits. */
const captures = { min: 20, max: 40 };

/** A small viewport, because the content of these captures is not checked. */
const request = (index: number) => ({
  html: `<body style="background:#00ff00"><h1>${index}</h1></body>`,
  viewport: { width: 160, height: 90 },
  background: index % 2 === 0,
});

afterEach(() => fleet().cluster.repair());

/** Sends captures to both fronts during the fault, every second one in the background. Resolves with all responses. */
async function answersDuring(fault: () => Promise<void>): Promise<readonly Answer[]> {
  const { api, urls } = fleet();
  const answers: Promise<Answer>[] = [];
  let completed = 0;
  let isOver = false;
  const sending = (async () => {
    for (let index = 0; index < (isOver ? captures.min : captures.max); index++) {
      const base = urls[Math.floor(index / 2) % urls.length] ?? '';
      const answer = api.capture(request(index), { base });
      answers.push(answer);
      answer.then(
        ({ status }) => (completed += status === 200 ? 1 : 0),
        () => undefined,
      );
      await sleep(paceMs);
    }
  })();
  try {
    await until('the load to start', () => completed >= 4);
    await fault();
  } finally {
    isOver = true;
    await sending;
  }
  return Promise.all(answers);
}

/** Waits until the other two nodes have elected another leader of a stream, by asking one of the two. */
async function untilOthersLead(stream: string, former: number): Promise<void> {
  const { cluster } = fleet();
  const { url } = cluster.node((former + 1) % 3);
  const signal = AbortSignal.timeout(60_000);
  const { nc } = await connectNats({ url, name: 'test', log: silentLog, signal });
  try {
    await until(`another leader of ${stream}`, async () => {
      // While there is no leader, there is no response.
      const reply = await nc.request(`$JS.API.STREAM.INFO.${stream}`, '', { timeout: 500 });
      const leader = reply.json<Partial<StreamInfo>>().cluster?.leader;
      return leader !== undefined && leader !== cluster.node(former).name;
    });
  } finally {
    await nc.close();
  }
}

/**
 * Checks what must hold after any fault of one server: every accepted background capture completed, every interactive client got its
 * capture or an error that asks to retry, and the records equal the usage. Prints a summary in one line.
 */
async function expectNothingLost(fault: string, answers: readonly Answer[]): Promise<void> {
  const { cluster, controller, fronts, renderers, serving, usageCheck } = fleet();
  await cluster.ready();
  for (const part of [controller, ...fronts, ...renderers]) await part.ready();
  await serving('us-east', 1);
  const records = await expectBalance(fleet());

  const ends = new Map(records.map(({ uuid, status }) => [uuid, status]));
  const [background, interactive] = [0, 1].map((rest) => answers.filter((_, index) => index % 2 === rest));
  const endOf = ({ body }: Answer) => ends.get(body?.data?.uuid ?? '') ?? 'without a record';
  const accepted = (background ?? []).filter(({ status }) => status === 200).map(endOf);
  const answered = (interactive ?? []).filter(({ status }) => status === 200).map(endOf);
  const refused = answers.filter(({ status }) => status !== 200);
  const count = (values: readonly string[]) =>
    [...Map.groupBy(values, (value) => value)].map(([value, { length }]) => `${length} ${value}`).join(', ') || 'none';
  const usage = await usageCheck.usage();
  process.stdout.write(
    `accounting, ${fault}: ${answers.length} sent; background accepted: ${count(accepted)}; interactive completed: ` +
      `${count(answered)}; refused: ${count(refused.map(outcomeOf))}; ${records.length} records in total: ` +
      `${count(records.map(({ status }) => status))}; usage ${usage.captures} captures, ${usage.tokens} tokens\n`,
  );

  const failures = records.flatMap(({ failure }) =>
    failure === undefined ? [] : [`${failure.code}: ${failure.message}`],
  );
  if (failures.length > 0) process.stdout.write(`failed: ${failures.join('; ')}\n`);

  expect(accepted).toEqual(accepted.map(() => 'completed'));
  expect(answered).toEqual(answered.map(() => 'completed'));
  for (const { status, body } of refused) {
    expect([status, body?.error?.message]).toEqual([500, expect.stringMatching(/again|retry|later/i)]);
  }
}

test.for(streams)('the leader of %s is killed by SIGKILL under load: no capture is lost', async (stream) => {
  const { cluster } = fleet();
  const answers = await answersDuring(async () => {
    const leader = await cluster.leaderOf(stream);
    await cluster.node(leader).kill('SIGKILL');
    expect(await cluster.leaderOf(stream)).not.toBe(leader);
    await cluster.node(leader).start();
    await cluster.ready();
  });
  await expectNothingLost(`SIGKILL of the leader of ${stream}`, answers);
});

test('a leader is stopped until another is elected, and then continues: no capture is lost', async () => {
  const { cluster } = fleet();
  const answers = await answersDuring(async () => {
    const leader = await cluster.leaderOf('KV_db');
    cluster.node(leader).stop();
    await untilOthersLead('KV_db', leader);
    cluster.node(leader).cont();
    await cluster.ready();
  });
  await expectNothingLost('SIGSTOP of the leader of KV_db', answers);
});

test('a follower is killed by SIGKILL and catches up under load: no capture is lost, and no incomplete data is read', async () => {
  const { cluster, usageCheck } = fleet();
  const answers = await answersDuring(async () => {
    const leader = await cluster.leaderOf('KV_db');
    const follower = cluster.node((leader + 1) % 3);
    // The usage is read before the fault, because a read that has to find another server may take as long as the load.
    const before = await until('the usage', () => usageCheck.usage());
    await follower.kill('SIGKILL');
    await until('it to miss some captures', async () => (await usageCheck.usage()).captures >= before.captures + 8);
    await follower.start();
    await cluster.ready();
  });
  await expectNothingLost('SIGKILL of a follower of KV_db', answers);
});

test('the node that leads the database is partitioned until the others have another leader: no capture is lost', async () => {
  const { cluster } = fleet();
  const answers = await answersDuring(async () => {
    const leader = await cluster.leaderOf('KV_db');
    cluster.partition(leader);
    // A leader without followers steps down after 10 to 20 s; until then there are two leaders.
    await untilOthersLead('KV_db', leader);
    cluster.heal();
    await cluster.ready();
  });
  await expectNothingLost('a partition of the leader of KV_db', answers);
});

test('all three nodes are restarted in sequence: no capture is lost', async () => {
  const { cluster } = fleet();
  const before = cluster.pids;
  const answers = await answersDuring(() => cluster.rollingRestart());
  expect(cluster.pids.filter((pid) => before.includes(pid))).toEqual([]);
  await expectNothingLost('a rolling restart', answers);
});
