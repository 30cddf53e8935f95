import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newApiKey } from '../../services/front/auth/keys.ts';

/** The key of the demo account: made at the first start, and the same at every later one in the same data folder. */
export async function demoKey(dataDir: string): Promise<string> {
  const path = join(dataDir, 'demo-key');
  const kept = await readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => '',
  );
  if (/^wc_live_\w{16,}$/.test(kept)) return kept;
  const key = newApiKey();
  await mkdir(dataDir, { recursive: true });
  await writeFile(path, `${key}\n`, { mode: 0o600 });
  return key;
}
