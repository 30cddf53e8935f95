// @module-tag long
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { freePort } from '../../harness/free-port.ts';
import { startTestNats } from '../../harness/nats-session.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { resultOf } from '../../harness/settling.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { until } from '../../harness/until.ts';
import { adminToken, openAccount } from './accounts.ts';
import { wide } from './background.ts';

const forgedWarning = 'a renderer sent a result with an invalid ticket';
const failed = { kind: 'failed', code: 'CAPTURE_FAILED', message: 'It failed.', cause: 'service' } as const;

test('during ten thousand false results a second, captures complete and memory stays bounded', async () => {
  await using parts = new AsyncDisposableStack();
  const nats = parts.use(await startTestNats(['us-east']));
  const port = await freePort();
  const front = await ServiceProcess.prepare('front', 'front', {
    PATH: process.env['PATH'] ?? '',
    PORT: String(port),
    WEBCAPTURE_HOST: '127.0.0.1',
    WEBCAPTURE_NATS_URL: nats.url,
    WEBCAPTURE_REGIONS: 'us-east:1',
    WEBCAPTURE_ADMIN_TOKEN: adminToken,
  });
  await front.start();
  parts.defer(() => front.stop());
  const renderer = new StandInRenderer(await nats.connect(), 'us-east');
  await renderer.start(4);
  parts.defer(() => renderer.stop());
  const { account, first } = await openAccount(`http://127.0.0.1:${port}`, wide);
  /** Retries a capture until it succeeds, like a client that was asked to send it again. */
  const capture = async () => {
    const idempotencyKey = randomUUID();
    const answer = await until(
      'a capture',
      async () => {
        const response = await fetch(`http://127.0.0.1:${port}/capture`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            authorization: `Bearer ${first.key}`,
            'idempotency-key': idempotencyKey,
          },
          body: JSON.stringify({ url: 'https://example.com/' }),
          signal: AbortSignal.timeout(60_000),
        });
        const text = await response.text();
        return response.status === 200 && text;
      },
      { deadlineMs: 90_000, intervalMs: 500 },
    );
    return answer.length > 0;
  };
  await until('the front to take captures', capture);
  const before = await rssOf(front.pid);

  const { nc } = await nats.connect();
  const forged = JSON.stringify(resultOf({ ticket: `${'x'.repeat(2000)}.forged` }, failed));
  const perTurn = 100;
  let sent = 0;
  let worst = 0;
  const honest: Promise<boolean>[] = [];
  const start = performance.now();
  // The messages are sent in two hundred rounds of a hundred, at least 10 ms apart.
  for (let turn = 0; turn < 200; turn++) {
    for (let count = 0; count < perTurn; count++)
      nc.publish(`results.us-east.${++sent}`, count % 2 === 0 ? forged : 'nonsense');
    if (turn % 10 === 0) honest.push(capture());
    await nc.flush();
    const restMs = start + 10 * (turn + 1) - performance.now();
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
    if (turn % 50 === 0) worst = Math.max(worst, await rssOf(front.pid));
  }
  await Promise.all(honest);
  // The server stores as many of these messages as it can.
  const { state } = await until(
    'all of them to be looked at',
    async () => {
      worst = Math.max(worst, await rssOf(front.pid));
      const info = await nats.session.jsm.streams.info(streamNames.results);
      return info.state.messages === 0 && info;
    },
    { deadlineMs: 90_000, intervalMs: 500 },
  );
  const body = await front.metrics();
  const countOf = (outcome: string) =>
    Number(new RegExp(`results_total\\{[^}]*outcome="${outcome}"[^}]*\\} (\\d+)`).exec(body)?.[1] ?? 0);
  expect(state.last_seq).toBeGreaterThan(sent / 4);
  expect(countOf('malformed')).toBeGreaterThan(0);
  expect(countOf('forged')).toBeGreaterThan(0);
  const settled = countOf('completed') + countOf('repeated');
  expect(countOf('forged') + countOf('malformed') + settled).toBeGreaterThanOrEqual(state.last_seq);
  // Only the honest captures were charged.
  const usage = await new AccountUsage(nats.session).read(account.id, Date.now(), 'exact');
  expect(usage).toMatchObject({ tokens: honest.length + 1, captures: honest.length + 1, reserved: 0, queued: 0 });
  expect(worst - before).toBeLessThan(200 * 1024 * 1024);
  // Each warning is logged once in ten seconds.
  const lines = front
    .logs()
    .split('\n')
    .filter((line) => line.includes(forgedWarning) || line.includes('is malformed'));
  expect(lines.length).toBeGreaterThanOrEqual(2);
  expect(lines.length).toBeLessThanOrEqual(20);
}, 240_000);

/** Returns the resident memory of a process in bytes. */
async function rssOf(pid: number): Promise<number> {
  const [, pages = '0'] = (await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ');
  return Number(pages) * 4096;
}
