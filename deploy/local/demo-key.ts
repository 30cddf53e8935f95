import { randomInt } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The key of the demo account: made at the first start, and the same at every later one in the same data folder. */
export async function demoKey(dataDir: string): Promise<string> {
  const path = join(dataDir, 'demo-key');
  const kept = await readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => '',
  );
  if (/^wc_live_\w{16,}$/.test(kept)) return kept;
  const key = newKey();
  await mkdir(dataDir, { recursive: true });
  await writeFile(path, `${key}\n`, { mode: 0o600 });
  return key;
}

function newKey(): string {
  const random = Array.from({ length: 32 }, () => base62[randomInt(base62.length)]).join('');
  return `wc_live_${random}${checksum(random)}`;
}

/** Six base62 digits of the CRC-32, so that a mistyped key can be told from a wrong one. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < 6; i++) {
    digits = (base62[rest % 62] ?? '') + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
