import { createCipheriv, createHash } from 'node:crypto';

/**
 * Whether a password opens an AES-256 PDF as its owner (ISO 32000-2, 7.6.4.4.10). PDF readers do not report which password opened
 * a file.
 */
export function isOwnerPassword(bytes: Buffer, password: string): boolean {
  const text = bytes.toString('latin1');
  const [owner, user] = ['O', 'U'].map((name) => {
    const [, digits = ''] = new RegExp(`/${name} <([\\dA-Fa-f]{96})>`).exec(text) ?? [];
    return Buffer.from(digits, 'hex');
  }) as [Buffer, Buffer];
  if (owner.length !== 48 || user.length !== 48) throw new Error('the file has no passwords of AES-256');
  return hash(Buffer.from(password), owner.subarray(32, 40), user).equals(owner.subarray(0, 32));
}

/** Algorithm 2.B of ISO 32000-2. */
function hash(password: Buffer, salt: Buffer, user: Buffer): Buffer {
  let key = createHash('sha256').update(password).update(salt).update(user).digest();
  for (let round = 1, last = 0; round <= 64 || last > round - 33; round++) {
    const repeated = Buffer.concat(Array<Buffer>(64).fill(Buffer.concat([password, key, user])));
    const cipher = createCipheriv('aes-128-cbc', key.subarray(0, 16), key.subarray(16, 32)).setAutoPadding(false);
    const encrypted = cipher.update(repeated);
    const remainder = encrypted.subarray(0, 16).reduce((sum, byte) => sum + byte, 0) % 3;
    key = createHash(['sha256', 'sha384', 'sha512'][remainder] ?? '')
      .update(encrypted)
      .digest();
    last = encrypted.at(-1) ?? 0;
  }
  return key.subarray(0, 32);
}
