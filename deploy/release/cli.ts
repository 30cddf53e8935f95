import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { version } from '@webcapture/shared/runtime/run-service.ts';
import { releaseNotes } from './changelog.ts';
import { pinImages } from './pin-images.ts';
import { versionProblems, writeVersion } from './versions.ts';

const usage = `usage:
  npm run release -- 0.2.0                 writes this version everywhere
  npm run release -- check [0.2.0]         fails unless all versions are the same (and this one), the changelog has a dated
                                           section for it, and docs/versions.md a row
  npm run release -- notes REPOSITORY      prints the section of the newest release in the changelog, with links into the
                                           repository at this address
  npm run release -- pin CHART REGISTRY METADATA
                                           writes the digests of pushed images into the chart in the folder CHART`;

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Semantic Versioning without build metadata, which image tags cannot have. */
const semver = /^\d+\.\d+\.\d+(-[\dA-Za-z.-]+)?$/;

try {
  process.stdout.write(`${await run(process.argv.slice(2))}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function run([command, ...args]: readonly string[]): Promise<string> {
  if (command === 'check') return check(args[0]);
  if (command === 'notes') return notes(args[0]);
  if (command === 'pin') return pin(args);
  if (command === undefined || !semver.test(command)) throw new Error(usage);
  await writeVersion(root, command, new Date().toISOString().slice(0, 10));
  return `All versions are ${command}. Name it in docs/versions.md, run npm run format and npm run release -- check, commit, and push the tag v${command}.`;
}

async function check(wanted?: string): Promise<string> {
  const problems = await versionProblems(root, wanted);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return `All versions are ${wanted ?? version}.`;
}

async function notes(repository?: string): Promise<string> {
  if (repository === undefined) throw new Error(usage);
  return releaseNotes(await readFile(join(root, 'CHANGELOG.md'), 'utf8'), repository);
}

async function pin([chart, registry, metadata]: readonly string[]): Promise<string> {
  if (chart === undefined || registry === undefined || metadata === undefined) throw new Error(usage);
  await pinImages(chart, registry, await readFile(metadata, 'utf8'));
  return `${chart} installs the images in ${registry} by their digests.`;
}
