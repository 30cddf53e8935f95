// @module-tag long
import { beforeEach, describe, expect, test } from 'vitest';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { passDeps, runPass, type PassOptions } from '../../../../services/controller/jobs/orphans/pass.ts';
import { newPass, readPass } from '../../../../services/controller/jobs/orphans/state.ts';
import { collectOrphansIfDue } from '../../../../services/controller/jobs/orphans/collection.ts';
import { useSettling } from '../support/settling.ts';
import { hour, setUp, tomorrow, type Kind } from './set-up.ts';

const on = useSettling();
beforeEach(() => setUp(on()).forget());

const inTerm = { signal: new AbortController().signal, holds: () => true };
const pace = (pageSize: number) => ({ pageSize, pauseMs: 0, now: tomorrow });
const day = 24 * hour;

const options = (changes: Partial<PassOptions> = {}): PassOptions => ({
  remove: true,
  force: false,
  pauseMs: 0,
  signal: inTerm.signal,
  holds: () => true,
  onPage: () => Promise.resolve(),
  ...changes,
});

const times = (count: number, kind: (index: number) => Kind): Kind[] =>
  Array.from({ length: count }, (_, i) => kind(i));
const account = (index: number) => `account-${index % 7}`;

/** Files that stay and files that are orphans. */
const kept: readonly Kind[] = [
  // Many files of one day, and a few of each of many days.
  ...times(400, (index) => ({ changes: {}, account: account(index) })),
  ...times(200, (index) => ({ changes: {}, account: account(index), day: 1 + (index % 20) })),
  ...times(60, () => ({ changes: { status: 'queued' } })),
];
const orphans: readonly (readonly [string, readonly Kind[]])[] = [
  ['no_record', times(100, (index) => ({ changes: null, day: index % 9 }))],
  ['other_file', times(60, (index) => ({ changes: { fileName: 'other.png' }, account: account(index) }))],
  [
    'ended',
    times(120, (index) => ({
      changes: { status: (['failed', 'deleted', 'expired'] as const)[index % 3] ?? 'failed' },
      day: index % 3,
    })),
  ],
  ['overdue', times(60, (index) => ({ changes: { expiresAt: Date.now() - 1 }, account: account(index) }))],
];

/** The same kinds in another order. */
const mixed = (kinds: readonly Kind[]) => kinds.map((_, index) => kinds[(index * 617) % kinds.length] as Kind);

describe('a pass', { timeout: 180_000 }, () => {
  test('removes each orphan among a thousand files, for its reason, and no other file', async () => {
    const { parts, fill, names, lines, metric } = setUp(on());
    const all = await fill(mixed([...kept, ...orphans.flatMap(([, kinds]) => kinds)]));
    expect(await names()).toHaveLength(1000);
    await collectOrphansIfDue(parts, day, inTerm, pace(128));

    const left = await names();
    const wrong = all.filter(({ kind, name }) => kept.includes(kind) !== left.includes(name));
    expect([left.length, wrong]).toEqual([660, []]);
    for (const [reason, kinds] of orphans)
      expect([reason, await metric('removed_files_total', { reason })]).toEqual([reason, kinds.length]);
    expect(await metric('files_total')).toBe(1000);
    expect((await metric('last_end_timestamp_seconds')) ?? 0).toBeGreaterThan(Date.now() / 1000);
    expect(await readPass(parts.live)).toMatchObject({ cursor: null, looked: 1000, failed: 0, withheld: 0 });
    expect(lines.at(-1)).toMatchObject({
      level: 'info',
      message: 'orphan collection finished: 1000 files checked, 340 removed',
    });
    // The capture whose expiry was lost is now marked as expired.
    const overdue = all.find(({ record }) => record.status === 'completed' && record.expiresAt < Date.now());
    const { account: whose = '', uuid = '' } = overdue?.record ?? {};
    expect((await parts.captures.change({ account: whose, uuid }, () => null))?.status).toBe('expired');
  });

  test('that is killed between two pages is continued by another process, and then none is due', async () => {
    const filling = setUp(on());
    await filling.fill([...times(50, () => ({ changes: {} })), ...times(15, () => ({ changes: null }))]);
    let lists = 0;
    const dies: FileStore['list'] = (after, limit) =>
      ++lists > 3 ? Promise.reject(new Error('killed')) : filling.parts.store.list(after, limit);
    const first = setUp(on(), { list: dies });
    await expect(collectOrphansIfDue(first.parts, day, inTerm, pace(10))).rejects.toThrow('killed');
    expect(await readPass(first.parts.live)).toMatchObject({ looked: 30, endedAt: null });

    const cursors: (string | null)[] = [];
    const second = setUp(on(), {
      list: (after, limit) => {
        cursors.push(after);
        return filling.parts.store.list(after, limit);
      },
    });
    await collectOrphansIfDue(second.parts, day, inTerm, pace(10));
    expect(cursors).not.toContain(null);
    expect(await readPass(second.parts.live)).toMatchObject({ looked: 65, cursor: null });
    expect(await filling.names()).toHaveLength(50);

    const before = cursors.length;
    await collectOrphansIfDue(second.parts, day, inTerm, pace(10));
    expect(cursors).toHaveLength(before);
    await collectOrphansIfDue(second.parts, 0, inTerm, pace(10));
    expect(cursors[before]).toBeNull();
  });

  test('without removal changes nothing', async () => {
    const { parts, fill, sequences } = setUp(on());
    await fill([
      ...times(5, () => ({ changes: {} })),
      ...times(5, () => ({ changes: { status: 'deleted' } as const })),
    ]);
    const before = await sequences();
    const found: string[] = [];
    const state = await runPass(
      newPass(0),
      passDeps(parts, pace(100)),
      options({ remove: false, onFinding: ({ why }) => found.push(why) }),
    );
    expect(found).toEqual(times(5, () => ({ changes: {} })).map(() => 'ended'));
    expect(state).toMatchObject({ looked: 10, found: { ended: 5 }, foundBytes: 35, removed: { ended: 0 } });
    expect(await sequences()).toEqual(before);
  });

  test('keeps files without a record until they expire, unless it is forced', async () => {
    const { parts, fill, names, lines } = setUp(on());
    await fill([
      ...times(30, () => ({ changes: null, lasts: true })),
      ...times(2, () => ({ changes: null })),
      ...times(3, () => ({ changes: { status: 'failed' } as const })),
    ]);
    await collectOrphansIfDue(parts, day, inTerm, pace(100));
    expect(await names()).toHaveLength(30);
    expect(await readPass(parts.live)).toMatchObject({ withheld: 30, removed: { ended: 3, no_record: 2 } });
    expect(lines.at(-1)?.level).toBe('warn');
    await runPass(newPass(0), passDeps(parts, pace(100)), options({ force: true }));
    expect(await names()).toEqual([]);
  });
});

describe('no file is removed', () => {
  test('because a replica lags: the leader is asked', async () => {
    const { parts, fill, names } = setUp(on());
    await fill([...times(10, () => ({ changes: {} })), ...times(2, () => ({ changes: null }))]);
    const deps = passDeps(parts, pace(100));
    const lagging = { find: async () => new Map(), ofLeader: (uuid: string) => deps.finder.ofLeader(uuid) };
    const outcomes: string[] = [];
    const state = await runPass(
      newPass(0),
      { ...deps, finder: lagging },
      options({ onFinding: (_, outcome) => outcomes.push(outcome) }),
    );
    expect(outcomes.toSorted()).toEqual([...Array<string>(2).fill('removed'), ...Array<string>(10).fill('spared')]);
    expect(state.removed.no_record).toBe(2);
    expect(await names()).toHaveLength(10);
  });

  test('after the term, even in the middle of a page', async () => {
    const { parts, fill, names } = setUp(on());
    await fill(times(20, () => ({ changes: null })));
    await collectOrphansIfDue(parts, day, { ...inTerm, holds: () => false }, pace(100));
    expect(await names()).toHaveLength(20);
    expect(await readPass(parts.live)).toBeNull();
    let asked = 0;
    await collectOrphansIfDue(parts, day, { ...inTerm, holds: () => ++asked < 8 }, pace(100));
    expect((await names()).length).toBeGreaterThan(12);
    expect((await names()).length).toBeLessThan(20);
    // The page is checked again.
    expect(await readPass(parts.live)).toBeNull();
  });

  test('while another process collects orphans', async () => {
    const { parts, claimOf, fill, names } = setUp(on());
    await fill([{ changes: null }]);
    const other = claimOf('a reconcile by hand');
    expect(await other.take()).toBeNull();
    expect(await other.take()).toBeNull();
    await collectOrphansIfDue(parts, day, inTerm, pace(100));
    expect(await names()).toHaveLength(1);
    await other.release();
    await collectOrphansIfDue(parts, day, inTerm, pace(100));
    expect(await names()).toEqual([]);
  });
});

describe('a store that fails', () => {
  test('for some files keeps only these, until the next pass', async () => {
    const filling = setUp(on());
    const files = await filling.fill(times(40, () => ({ changes: { status: 'deleted' } as const })));
    const bad = new Set(files.filter((_, index) => index % 2 === 0).map(({ name }) => name));
    const remove: FileStore['remove'] = (name) =>
      bad.has(name) ? Promise.reject(new Error('503')) : filling.parts.store.remove(name);
    const { parts, metric, lines } = setUp(on(), { remove });
    await collectOrphansIfDue(
      { ...parts, removeCaptureFiles: ({ fileName }) => remove(fileName) },
      day,
      inTerm,
      pace(100),
    ).catch(() => undefined);
    const [left, failed] = [await filling.names(), await metric('left_files_total', { why: 'failed' })];
    expect([left.length, failed]).toEqual([20, 20]);
    expect(lines.at(-1)?.message).toContain('20 not removed');
    await collectOrphansIfDue(filling.parts, 0, inTerm, pace(100));
    expect(await filling.names()).toEqual([]);
  });

  test('for all files stops the pass, which resumes at the same page', async () => {
    let asked = 0;
    const remove: FileStore['remove'] = () => Promise.reject(new Error(`503 for the ${++asked}. time`));
    const { parts, fill } = setUp(on(), { remove });
    await fill([...times(10, () => ({ changes: {} })), ...times(100, () => ({ changes: { fileName: 'other.png' } }))]);
    await expect(collectOrphansIfDue(parts, day, inTerm, pace(200))).rejects.toThrow('503');
    expect(asked).toBeLessThan(35);
    expect(await readPass(parts.live)).toMatchObject({ looked: 0, cursor: null, endedAt: null });
    // After some more attempts, the page is left to the next pass.
    await expect(collectOrphansIfDue(parts, day, inTerm, pace(200))).rejects.toThrow('503');
    await collectOrphansIfDue(parts, day, inTerm, pace(200));
    expect(await readPass(parts.live)).toMatchObject({ looked: 110, failed: 100 });
    await collectOrphansIfDue(setUp(on()).parts, 0, inTerm, pace(200));
    expect(await setUp(on()).names()).toHaveLength(10);
  });
});
