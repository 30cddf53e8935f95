import { chmod, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

/**
 * Bundles the command line into one file without dependencies, for Node 20 or newer:
 *
 *   node services/cli/build.ts [folder]
 */
const input = fileURLToPath(new URL('main.ts', import.meta.url));
const folder = resolve(process.argv[2] ?? fileURLToPath(new URL('dist', import.meta.url)));
const file = join(folder, 'webcapture.mjs');

await build({
  input,
  platform: 'node',
  transform: { target: 'node20' },
  output: { file, format: 'esm', codeSplitting: false, minify: true, comments: { legal: true } },
  logLevel: 'warn',
});
await chmod(file, 0o755);
const size = (await readFile(file)).length;
process.stdout.write(`${file}: ${Math.round(size / 1000)} kB\n`);
