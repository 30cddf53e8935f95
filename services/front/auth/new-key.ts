import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * Creates an API key: `wc_live_`, 32 random base62 characters (190 bits), and their CRC-32 in 6 base62 characters.
 * Secret scanners recognize the prefix and use the checksum to exclude false positives. The service does not check the
 * form of a key.
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
