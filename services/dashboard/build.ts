import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { build } from 'vite';

/**
 * Builds the dashboard into a folder, and adds a compressed copy of each file that compression makes smaller:
 *
 * NODE_ENV=production node services/dashboard/build.ts FOLDER
 */
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: build.ts FOLDER');
await build({
  root: import.meta.dirname,
  logLevel: 'warn',
  build: { outDir: resolve(folder), emptyOutDir: true },
});
const names = await readdir(folder, { recursive: true });
await Promise.all(
  names.filter((name) => /\.(m?js|css|html|svg)$/.test(name)).map((name) => compress(join(folder, name))),
);

async function compress(path: string): Promise<void> {
  const bytes = await readFile(path);
  // For smaller files, compression saves too little.
  if (bytes.length < 1024) return;
  await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }));
  await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes));
}
