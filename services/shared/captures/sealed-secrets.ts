import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { CaptureSecrets } from '../api/secret-options.ts';
import { parsedVariable } from '../runtime/variables.ts';
import type { SessionState } from './session-state.ts';

/** The stored secrets of a capture, encrypted by AES-256-GCM. The key is stored elsewhere. */
export interface SealedSecrets {
  /** Id of the key. */
  readonly key: string;
  /** Base64 of the nonce (12 bytes), the tag (16 bytes) and the ciphertext. */
  readonly sealed: string;
}

/** The capture to which sealed secrets belong. They cannot be opened for another capture. */
export interface SecretsOwner {
  readonly account: string;
  readonly uuid: string;
}

/** Thrown if the key that sealed the secrets is not configured, or if the sealed secrets were changed. */
export class SecretsLockedError extends Error {
  constructor(message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = 'SecretsLockedError';
  }
}

const minKeyLength = 32;
const maxKeys = 2;
const nonceBytes = 12;
const tagBytes = 16;

/** The configured keys: the first one seals, and all of them open. No message shows them. */
export const secretsVariable = parsedVariable('WEBCAPTURE_SECRETS_KEY', {
  type: `string, ${minKeyLength} characters or more; two with a comma between them during a rotation`,
  default: '',
  parse: (text) => {
    const keys = text.split(',').map((key) => key.trim());
    if (text === '') return undefined;
    if (keys.length > maxKeys) throw new Error(`must be one key, or ${maxKeys} with a comma between them`);
    if (keys.some((key) => key.length < minKeyLength)) {
      throw new Error(`must have at least ${minKeyLength} characters in each key`);
    }
    return keys;
  },
  meaning:
    'Key that the secrets of captures (`headers`, `cookies`, `auth`, `css`, `script`, `pdf.encryption`, values of `steps`) and sessions are sealed with in records and jobs. Set the same one for fronts and renderers. Without it, requests with secrets that need to be kept are refused. See [secrets of captures](operations.md#secrets-of-captures).',
});

interface SecretsKey {
  readonly id: string;
  readonly seal: Buffer;
  readonly hash: Buffer;
}

/** Seals and opens the secrets of captures. */
export class SecretsKeys {
  readonly #keys: readonly [SecretsKey, ...SecretsKey[]];

  /** @param keys texts with at least 128 bits of randomness; the first one seals */
  constructor([first, ...others]: readonly [string, ...string[]]) {
    this.#keys = [derive(first), ...others.map(derive)];
  }

  /** Returns undefined if no keys are configured. */
  static of(keys: readonly string[] | undefined): SecretsKeys | undefined {
    const [first, ...others] = keys ?? [];
    return first === undefined ? undefined : new SecretsKeys([first, ...others]);
  }

  seal(secrets: CaptureSecrets | SessionState, owner: SecretsOwner): SealedSecrets {
    const [{ id, seal }] = this.#keys;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', seal, nonce, { authTagLength: tagBytes }).setAAD(contextOf(owner));
    const text = Buffer.concat([cipher.update(JSON.stringify(secrets), 'utf8'), cipher.final()]);
    return { key: id, sealed: Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64') };
  }

  /** @throws SecretsLockedError */
  open<T extends object = CaptureSecrets>({ key: id, sealed }: SealedSecrets, owner: SecretsOwner): T {
    const key = this.#keys.find((one) => one.id === id);
    if (key === undefined)
      throw new SecretsLockedError(`the secrets are sealed with the key ${id}, which is not in WEBCAPTURE_SECRETS_KEY`);
    const bytes = Buffer.from(sealed, 'base64');
    const [nonce, rest] = [bytes.subarray(0, nonceBytes), bytes.subarray(nonceBytes)];
    try {
      const decipher = createDecipheriv('aes-256-gcm', key.seal, nonce, { authTagLength: tagBytes })
        .setAAD(contextOf(owner))
        .setAuthTag(rest.subarray(0, tagBytes));
      const text = Buffer.concat([decipher.update(rest.subarray(tagBytes)), decipher.final()]).toString('utf8');
      return JSON.parse(text) as T;
    } catch (error) {
      throw new SecretsLockedError('the sealed secrets were changed, or belong to another capture', { cause: error });
    }
  }

  /**
   * Seals secrets of a former key again under the current key, so that the former key can be removed. Returns them
   * unchanged when they cannot be opened.
   */
  reseal(secrets: SealedSecrets, owner: SecretsOwner): SealedSecrets {
    if (secrets.key === this.#keys[0].id) return secrets;
    try {
      return this.seal(this.open(secrets, owner), owner);
    } catch (error) {
      if (error instanceof SecretsLockedError) return secrets;
      throw error;
    }
  }

  /** Returns a keyed hash of 64 hex digits. Equal secrets have equal hashes. Without the key, the hash reveals nothing. */
  hash(text: string): string {
    return createHmac('sha256', this.#keys[0].hash).update(text).digest('hex');
  }
}

/** Derives a separate key for each use (HKDF, RFC 5869), and an id that does not reveal these keys. */
function derive(key: string): SecretsKey {
  const part = (use: string, bytes: number) =>
    Buffer.from(hkdfSync('sha256', key, '', `webcapture secrets: ${use}`, bytes));
  return { id: part('id', 4).toString('hex'), seal: part('seal', 32), hash: part('hash', 32) };
}

const contextOf = ({ account, uuid }: SecretsOwner): Buffer => Buffer.from(`${account}/${uuid}`);
