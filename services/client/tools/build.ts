// `npm run build:client`: writes the package for publication to services/client/dist, where `npm pack` packs it.
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const source = new URL('../', import.meta.url);
const root = new URL('../../', source);
const run = promisify(execFile);

/** Writes the published form of the client into a folder and replaces its content. */
async function buildClient(folder: URL): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const config = fileURLToPath(new URL('tsconfig.build.json', source));
  const tsc = fileURLToPath(new URL('node_modules/.bin/tsc', root));
  await run(tsc, ['--project', config, '--outDir', fileURLToPath(folder)]);
  await writeFile(new URL('package.json', folder), `${JSON.stringify(await published(), null, 2)}\n`);
  await cp(new URL('README.md', source), new URL('README.md', folder));
  await cp(new URL('LICENSE', root), new URL('LICENSE', folder));
}

/** Returns package.json without the fields for this repository, where the client runs from its sources. */
async function published(): Promise<object> {
  const text = await readFile(new URL('package.json', source), 'utf8');
  const { name, version, description, license, repository, type, engines, dependencies } = JSON.parse(text) as Record<
    string,
    unknown
  >;
  return {
    name,
    version,
    description,
    license,
    // npm compares it with the repository that signs the provenance.
    repository,
    type,
    engines,
    sideEffects: false,
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
    dependencies,
  };
}

await buildClient(new URL('dist/', source));
