import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { cacheDirOf } from '../../../deploy/tools/cache-dir.ts';
import type { GalleryPackage } from './page-list.ts';

const run = promisify(execFile);

/** The registry may be slow, and these packages are large. */
const fetchTimeoutMs = 120_000;

/**
 * Returns the folder of a package with the files that its pages need and it does not contain.
 *
 * @param specifier `name@version`
 */
export async function galleryFolder(specifier: string, files: GalleryPackage['files'] = {}): Promise<string> {
  const folder = await packageFolder(specifier);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(folder, dirname(name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

/** Returns the folder of the published package. npm downloads it if the cache does not contain it. */
async function packageFolder(specifier: string): Promise<string> {
  const root = join(cacheDirOf(process.env), 'bench-pages');
  const folder = join(root, specifier.replaceAll('/', '+'));
  await mkdir(root, { recursive: true });
  const found = await readdir(folder).catch(() => []);
  if (found.length > 0) return folder;
  const work = await mkdtemp(join(root, '.fetch-'));
  try {
    await run('npm', ['pack', specifier, '--silent', '--pack-destination', work], { timeout: fetchTimeoutMs });
    const [archive] = await readdir(work);
    if (archive === undefined) throw new Error(`npm has no ${specifier}`);
    const extracted = join(work, 'extracted');
    await mkdir(extracted);
    await run('tar', ['xzf', join(work, archive), '-C', extracted, '--strip-components=1'], {
      timeout: fetchTimeoutMs,
    });
    await rename(extracted, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return folder;
}
