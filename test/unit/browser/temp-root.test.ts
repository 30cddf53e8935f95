import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTempFolder } from '../../../services/renderer/browser/temp-folder.ts';

let parent: string;
let before: string | undefined;
beforeEach(async () => {
  before = process.env.TMPDIR;
  parent = await mkdtemp(join(tmpdir(), 'wc-'));
  process.env.TMPDIR = parent;
});
afterEach(async () => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  await rm(parent, { recursive: true });
});

test('a temporary folder is removed when its process ends or when the next one starts, unless its process still runs', async () => {
  const remove = await openTempFolder();
  const [own = ''] = await readdir(parent);
  expect(tmpdir()).toBe(join(parent, own));
  await mkdir(join(tmpdir(), 'profile'));
  await remove();
  expect(await readdir(parent)).toEqual([]);

  const [, prefix = ''] = /^(wc-[0-9a-f]+-)\d+-/.exec(own) ?? [];
  // Folders of an earlier process with this id, of a dead process and of a running one, and a folder of another program.
  const [dead, alive, foreign] = [`${prefix}4194305`, `${prefix}${process.ppid}`, `wc-zzzz-4194305`];
  for (const name of [own, dead, alive, foreign]) await mkdir(join(parent, name));
  await writeFile(join(parent, own, 'profile'), 'old');
  const removeAgain = await openTempFolder();
  expect((await readdir(parent)).toSorted()).toEqual([basename(tmpdir()), alive, foreign].toSorted());
  expect(basename(tmpdir())).not.toBe(own);
  expect(await readdir(tmpdir())).toEqual([]);
  await removeAgain();
});
