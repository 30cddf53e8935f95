import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { FilterList, ListCollection } from './filter-list.ts';

const run = promisify(execFile);

/** The Debian and Ubuntu package with filter lists. It is not installed, and only the lists are kept. */
const packageName = 'webext-ublock-origin-chromium';

/** Files of the package that are used. */
const wanted = new Set([
  'easylist.txt',
  'easyprivacy.txt',
  'filters.min.txt',
  'privacy.min.txt',
  'quick-fixes.min.txt',
  'unbreak.min.txt',
]);

const downloadLimitMs = 60_000;

/** Extracts the lists from the distribution's package. Rejects if there is no apt, or no such package. */
export async function takeDebianLists(): Promise<ListCollection> {
  const folder = await mkdtemp(join(tmpdir(), 'webcapture-filters-'));
  try {
    await download(folder);
    const archive = (await readdir(folder)).find((name) => name.endsWith('.deb'));
    if (archive === undefined) throw new Error(`apt-get downloaded no ${packageName}`);
    const unpacked = join(folder, 'unpacked');
    await run('dpkg-deb', ['-x', join(folder, archive), unpacked], { timeout: downloadLimitMs });
    const files = await readdir(unpacked, { recursive: true });
    const lists = await Promise.all(
      files
        .filter((file) => wanted.has(basename(file)))
        .toSorted()
        .map(async (file): Promise<FilterList> => {
          return { name: basename(file), text: await readFile(join(unpacked, file), 'utf8') };
        }),
    );
    if (!lists.some(({ name }) => name === 'easylist.txt')) throw new Error(`${packageName} holds no EasyList`);
    return { source: `Debian package ${packageName}`, lists };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function download(folder: string): Promise<void> {
  const command = ['-q', '-o', 'APT::Sandbox::User=root', 'download', packageName];
  const options = { cwd: folder, timeout: downloadLimitMs };
  try {
    await run('apt-get', command, options);
  } catch (error) {
    // A fresh machine has no package index, and only root can download it.
    if (process.getuid?.() !== 0) throw error;
    await run('apt-get', ['-q', 'update'], options);
    await run('apt-get', command, options);
  }
}
