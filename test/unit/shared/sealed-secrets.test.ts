import { describe, expect, test } from 'vitest';
import { SecretsKeys, SecretsLockedError, secretsVariable } from '@webcapture/shared/captures/sealed-secrets.ts';
import { ConfigError, EnvReader } from '@webcapture/shared/runtime/env.ts';

const [first, second] = ['first-key-of-thirty-two-characters', 'other-key-of-thirty-two-characters'] as const;
const owner = { account: 'a', uuid: '0192' };
const secrets = { headers: { 'x-key': 'hunter2' }, css: 'é' };

test('sealed secrets are encrypted, and open with the same key for the same capture', () => {
  const sealed = new SecretsKeys([first]).seal(secrets, owner);
  expect(JSON.stringify(sealed)).not.toMatch(/hunter2|x-key/);
  expect(Buffer.from(sealed.sealed, 'base64').toString('latin1')).not.toContain('hunter2');
  expect(new SecretsKeys([first]).open(sealed, owner)).toEqual(secrets);
});

test('sealing the same secrets twice gives different bytes', () => {
  const keys = new SecretsKeys([first]);
  expect(keys.seal(secrets, owner).sealed).not.toBe(keys.seal(secrets, owner).sealed);
});

test('sealed secrets do not open for another capture or account', () => {
  const keys = new SecretsKeys([first]);
  const sealed = keys.seal(secrets, owner);
  expect(() => keys.open(sealed, { ...owner, uuid: '0193' })).toThrow(SecretsLockedError);
  expect(() => keys.open(sealed, { ...owner, account: 'b' })).toThrow(SecretsLockedError);
});

test.each([0, 13, 40])('a changed bit at byte %i is detected', (at) => {
  const keys = new SecretsKeys([first]);
  const { key, sealed } = keys.seal(secrets, owner);
  const bytes = Buffer.from(sealed, 'base64');
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  expect(() => keys.open({ key, sealed: bytes.toString('base64') }, owner)).toThrow(SecretsLockedError);
});

test('truncated secrets are detected', () => {
  const keys = new SecretsKeys([first]);
  const { key } = keys.seal(secrets, owner);
  for (const sealed of ['', 'AAAA', 'A'.repeat(40)]) {
    expect(() => keys.open({ key, sealed }, owner)).toThrow(SecretsLockedError);
  }
});

describe('a rotation of the key', () => {
  const old = new SecretsKeys([first]).seal(secrets, owner);
  const rotating = new SecretsKeys([second, first]);

  test('opens secrets of both keys, and seals with the first', () => {
    expect(rotating.open(old, owner)).toEqual(secrets);
    const now = rotating.seal(secrets, owner);
    expect(new SecretsKeys([second]).open(now, owner)).toEqual(secrets);
    expect(() => new SecretsKeys([first]).open(now, owner)).toThrow(/not in WEBCAPTURE_SECRETS_KEY/);
  });

  test('seals secrets of the old key again, and leaves the others unchanged', () => {
    const again = rotating.reseal(old, owner);
    expect(new SecretsKeys([second]).open(again, owner)).toEqual(secrets);
    expect(rotating.reseal(again, owner)).toBe(again);
  });

  test('leaves secrets unchanged that it cannot open', () => {
    expect(new SecretsKeys([second]).reseal(old, owner)).toBe(old);
  });
});

test('different secrets or keys give different hashes', () => {
  const keys = new SecretsKeys([first]);
  expect(keys.hash('a')).toBe(new SecretsKeys([first, second]).hash('a'));
  expect(new Set([keys.hash('a'), keys.hash('b'), new SecretsKeys([second]).hash('a')]).size).toBe(3);
});

describe('WEBCAPTURE_SECRETS_KEY', () => {
  const read = (value?: string) => {
    const env = new EnvReader(value === undefined ? {} : { WEBCAPTURE_SECRETS_KEY: value });
    return env.finish(() => ({ keys: secretsVariable.read(env) })).keys;
  };

  test('can contain no key, one or two', () => {
    expect(read(first)).toEqual([first]);
    expect(read(`${second}, ${first}`)).toEqual([second, first]);
    expect(read()).toBeUndefined();
    expect(read('')).toBeUndefined();
  });

  test.each([
    ['k'.repeat(31), 'at least 32 characters'],
    [`${first},`, 'at least 32 characters'],
    [`${first},${first},${first}`, 'must be one key, or 2'],
  ])('is refused, without its value in the message: %s', (value, message) => {
    expect(() => read(value)).toThrow(ConfigError);
    expect(() => read(value)).toThrow(message);
    expect(() => read(value)).not.toThrow(value);
  });
});
