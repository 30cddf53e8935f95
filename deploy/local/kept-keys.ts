import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newApiKey } from '../../services/front/auth/new-key.ts';

/**
 * Returns the API key of the demo account. The first start creates it, and later starts with the same data folder reuse
 * it.
 */
export function demoKey(dataDir: string): Promise<string> {
  return kept(dataDir, 'demo-key', /^wc_live_\w{16,}$/, newApiKey);
}

/** Returns the key that encrypts the secrets of captures. It is created and reused like the API key. */
export function keptSecretsKey(dataDir: string): Promise<string> {
  return kept(dataDir, 'secrets-key', /^[\w-]{32,}$/, () => randomBytes(32).toString('base64url'));
}

async function kept(dataDir: string, name: string, form: RegExp, make: () => string): Promise<string> {
  const path = join(dataDir, name);
  const found = await readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => '',
  );
  if (form.test(found)) return found;
  const key = make();
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(path, `${key}\n`, { mode: 0o600 });
  return key;
}
