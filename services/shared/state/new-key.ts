import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * A new API key: `wc_live_`, 32 random base62 characters (190 bits), and 6 more that are the CRC-32 of those 32 in base62.
 * Scanners for leaked secrets go by the prefix and tell a mistyped key from a real one by the checksum; the service
 * itself never looks at the form of a key.
 */
export function newApiKey(): string {
  const random = Array.from({ length: 32 }, () => base62[randomInt(base62.length)]).join('');
  return `wc_live_${random}${checksum(random)}`;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < 6; i++) {
    digits = (base62[rest % 62] ?? '') + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
