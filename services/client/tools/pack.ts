// Makes `npm pack` in services/client pack the built client. In the repository, package.json names the sources, which run without a build.
// The script `prepack` builds the client and replaces package.json with the published one. `postpack` restores that of the sources.
import { execFile } from 'node:child_process';
import { copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = new URL('../../../', import.meta.url);
const client = new URL('services/client/', root);
const manifest = new URL('package.json', client);
/** The package.json of the sources, while the published one is in its place. */
const kept = new URL('package.sources.json', client);
const license = new URL('LICENSE', client);
const dist = new URL('dist/', client);

async function prepack(): Promise<void> {
  const text = await readFile(manifest, 'utf8');
  await writeFile(kept, text, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    const path = fileURLToPath(kept);
    throw new Error(
      `${path} exists: another npm pack is running, or one was interrupted. In the second case, rename it to package.json.`,
    );
  });
  try {
    await build(text);
  } catch (error) {
    await postpack();
    throw error;
  }
}

async function build(text: string): Promise<void> {
  await rm(dist, { recursive: true, force: true });
  const tsc = fileURLToPath(new URL('node_modules/.bin/tsc', root));
  await promisify(execFile)(tsc, ['--project', fileURLToPath(new URL('tsconfig.build.json', client))]);
  await copyFile(new URL('LICENSE', root), license);
  // The file is replaced by a rename, so that a program which reads package.json meanwhile gets either the old or the new one.
  const changed = new URL('package.json.tmp', client);
  await writeFile(changed, `${JSON.stringify(published(text), null, 2)}\n`);
  await rename(changed, manifest);
}

async function postpack(): Promise<void> {
  await rename(kept, manifest);
  await rm(license, { force: true });
}

/**
 * Fields of the published package.json that are copied from that of the sources. npm compares `repository` with the repository that signs
 * the provenance.
 */
const commonFields = ['name', 'version', 'description', 'license', 'repository', 'type', 'engines', 'dependencies'];

/** Returns the published package.json. */
function published(text: string): object {
  const sources = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return {
    ...Object.fromEntries(commonFields.map((name) => [name, sources[name]])),
    sideEffects: false,
    files: ['dist'],
    exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
  };
}

const steps: Readonly<Record<string, () => Promise<void>>> = { prepack, postpack };
const step = steps[process.env['npm_lifecycle_event'] ?? ''];
if (step === undefined)
  throw new Error('npm runs this file as prepack and as postpack: run npm pack in services/client');
await step();
