import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { build } from 'vite';

/** Builds the dashboard into a folder, with a compressed copy beside each file that gets smaller by it. */
export async function buildDashboard(folder: string): Promise<void> {
  await build({
    root: import.meta.dirname,
    mode: 'production',
    logLevel: 'warn',
    build: { outDir: folder, emptyOutDir: true },
  });
  const names = await readdir(folder, { recursive: true });
  await Promise.all(
    names.filter((name) => /\.(js|css|html|svg)$/.test(name)).map((name) => compress(join(folder, name))),
  );
}

/** What is smaller is not worth a header. */
const minCompressedBytes = 1024;

async function compress(path: string): Promise<void> {
  const bytes = await readFile(path);
  if (bytes.length < minCompressedBytes) return;
  await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }));
  await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes));
}
