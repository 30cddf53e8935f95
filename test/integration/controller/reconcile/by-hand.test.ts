// @module-tag long
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBucket } from '@webcapture/shared/files/open-store.ts';
import { readMissing } from '../../../../services/controller/jobs/orphans/state.ts';
import { parseOptions, runCommand, Report } from '../../../../services/controller/reconcile/command.ts';
import { bucketSetUpMs, startTestBucket } from '../../../harness/bucket.ts';
import { silentLog, startTestNats, type TestNats } from '../../../harness/nats-session.ts';
import { userOf } from '../../../harness/nats-users.ts';
import { newFile } from '../../../harness/records.ts';
import { hour, setUp } from './set-up.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const main = fileURLToPath(new URL('../../../../services/controller/reconcile/main.ts', import.meta.url));

/** Runs the command as an operator does. */
async function reconcile(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, WEBCAPTURE_NATS_URL: nats.url, ...userOf('controller'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [out, error] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, out, error, lines: out.trimEnd().split('\n') };
}

const standHere = () =>
  setUp({ session: nats.session, failCapture: () => Promise.reject(new Error('no job fails here')) });

test('the command lists what it would remove, removes it with --delete, and finds missing files', async () => {
  const { fill, names, sequences, parts, claimOf } = standHere();
  const long = { expiresAt: Date.now() - 2 * hour };
  const filled = await fill([
    { changes: {} },
    { changes: {} },
    { changes: long },
    { changes: long },
    { changes: null },
  ]);
  const [used, lost, ...late] = filled.map(({ name }) => name);
  await parts.store.remove(lost ?? '');
  const overdue = late.slice(0, 2).toSorted();
  const before = await sequences();

  const [dry, json, unknown] = await Promise.all([
    reconcile([]),
    reconcile(['--json', '--missing']),
    reconcile(['--remove']),
  ]);
  expect([dry.code, json.code, dry.error, json.error]).toEqual([3, 3, '', '']);
  for (const name of overdue) expect(dry.out).toContain(`would remove  ${name}`);
  expect(dry.lines.slice(2)).toEqual([
    '4 files checked',
    '2 of them orphaned, 14 B: 2 overdue',
    'Nothing was changed. To remove these files: --delete',
  ]);
  const told = json.lines.map((line) => JSON.parse(line) as { kind: string; name: string });
  expect(told.map(({ kind }) => kind)).toEqual(['file', 'file', 'missing', 'sum']);
  expect(told.find(({ kind }) => kind === 'missing')).toMatchObject({ name: lost, account: 'acme' });
  expect(told.at(-1)).toMatchObject({ whole: true, looked: 4, found: { overdue: 2 }, missing: { asked: 2, count: 1 } });
  expect(await sequences()).toEqual(before);
  expect([unknown.code, unknown.out]).toEqual([2, '']);
  expect(unknown.error).toMatch(/^reconcile: Unknown option '--remove'[\s\S]*usage: npm run reconcile/);
  expect(() => parseOptions(['--force'])).toThrow('--force requires --delete');
  expect(await readMissing(parts.live)).toMatchObject({ count: 1 });

  const report = new Report(() => undefined, false);
  const leader = claimOf('the leader of the fleet');
  await leader.take();
  const refused = runCommand(parseOptions(['--delete']), {
    ...parts,
    report,
    signal: new AbortController().signal,
  });
  await expect(refused).rejects.toThrow('the leader of the fleet is removing files');
  await leader.release();

  const removed = await reconcile(['--delete']);
  expect([removed.code, removed.out]).toEqual([0, expect.stringContaining('2 removed: 2 overdue, 0 failed')]);
  expect(await names()).toEqual([used ?? '', late[2] ?? ''].toSorted());
  expect(await leader.take()).toBeNull();
});

test(
  'the command checks the bucket if files are stored in one, and reports what is wrong with it',
  async () => {
    await using bucket = await startTestBucket();
    const store = await openBucket(
      { bucket: bucket.bucket, endpoint: bucket.endpoint, prefix: 'captures/' },
      { log: silentLog },
    );
    for (let index = 0; index < 3; index++) await store.create(newFile(10));
    store.close();
    const env = { WEBCAPTURE_GCS_ENDPOINT: bucket.endpoint, WEBCAPTURE_GCS_PREFIX: 'captures/' };
    const [found, missing] = await Promise.all([
      reconcile([], { ...env, WEBCAPTURE_GCS_BUCKET: bucket.bucket }),
      reconcile([], { ...env, WEBCAPTURE_GCS_BUCKET: 'another' }),
    ]);
    expect([found.code, found.error]).toEqual([0, '']);
    expect(found.out).toContain('3 files checked');
    expect([missing.code, missing.out]).toEqual([1, '']);
    expect(missing.error).toMatch(/^reconcile: there is no bucket another: create it/);
  },
  bucketSetUpMs,
);
