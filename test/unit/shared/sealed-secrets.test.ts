import { describe, expect, test } from 'vitest';
import { SecretsKeys, SecretsLockedError, secretsVariable } from '@webcapture/shared/captures/sealed-secrets.ts';
import { ConfigError, EnvReader } from '@webcapture/shared/runtime/env.ts';

const [first, second] = ['first-key-of-thirty-two-characters', 'other-key-of-thirty-two-characters'] as const;
const owner = { account: 'a', uuid: '0192' };
const secrets = { headers: { 'x-key': 'hunter2' }, css: 'é' };

test('what is sealed opens with the same key for the same capture, and shows nothing', () => {
  const sealed = new SecretsKeys([first]).seal(secrets, owner);
  expect(JSON.stringify(sealed)).not.toMatch(/hunter2|x-key/);
  expect(Buffer.from(sealed.sealed, 'base64').toString('latin1')).not.toContain('hunter2');
  expect(new SecretsKeys([first]).open(sealed, owner)).toEqual(secrets);
});

test('the same secrets are sealed in another way each time', () => {
  const keys = new SecretsKeys([first]);
  expect(keys.seal(secrets, owner).sealed).not.toBe(keys.seal(secrets, owner).sealed);
});

test('they open for no other capture, nor account', () => {
  const keys = new SecretsKeys([first]);
  const sealed = keys.seal(secrets, owner);
  expect(() => keys.open(sealed, { ...owner, uuid: '0193' })).toThrow(SecretsLockedError);
  expect(() => keys.open(sealed, { ...owner, account: 'b' })).toThrow(SecretsLockedError);
});

test.each([0, 13, 40])('a bit that is turned at byte %i is found', (at) => {
  const keys = new SecretsKeys([first]);
  const { key, sealed } = keys.seal(secrets, owner);
  const bytes = Buffer.from(sealed, 'base64');
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  expect(() => keys.open({ key, sealed: bytes.toString('base64') }, owner)).toThrow(SecretsLockedError);
});

test('a text that is cut off is found', () => {
  const keys = new SecretsKeys([first]);
  const { key } = keys.seal(secrets, owner);
  for (const sealed of ['', 'AAAA', 'A'.repeat(40)]) {
    expect(() => keys.open({ key, sealed }, owner)).toThrow(SecretsLockedError);
  }
});

describe('a rotation', () => {
  const old = new SecretsKeys([first]).seal(secrets, owner);
  const rotating = new SecretsKeys([second, first]);

  test('opens what either key has sealed, and seals with the first', () => {
    expect(rotating.open(old, owner)).toEqual(secrets);
    const now = rotating.seal(secrets, owner);
    expect(new SecretsKeys([second]).open(now, owner)).toEqual(secrets);
    expect(() => new SecretsKeys([first]).open(now, owner)).toThrow(/not in WEBCAPTURE_SECRETS_KEY/);
  });

  test('seals again what the former key has sealed, and leaves the rest', () => {
    const again = rotating.reseal(old, owner);
    expect(new SecretsKeys([second]).open(again, owner)).toEqual(secrets);
    expect(rotating.reseal(again, owner)).toBe(again);
  });

  test('leaves what it cannot open', () => {
    expect(new SecretsKeys([second]).reseal(old, owner)).toBe(old);
  });
});

test('hashes tell secrets apart, and depend on the key', () => {
  const keys = new SecretsKeys([first]);
  expect(keys.hash('a')).toBe(new SecretsKeys([first, second]).hash('a'));
  expect(new Set([keys.hash('a'), keys.hash('b'), new SecretsKeys([second]).hash('a')]).size).toBe(3);
});

describe('WEBCAPTURE_SECRETS_KEY', () => {
  const read = (value?: string) => {
    const env = new EnvReader(value === undefined ? {} : { WEBCAPTURE_SECRETS_KEY: value });
    return env.finish(() => ({ keys: secretsVariable.read(env) })).keys;
  };

  test('is one key, two, or none', () => {
    expect(read(first)).toEqual([first]);
    expect(read(`${second}, ${first}`)).toEqual([second, first]);
    expect(read()).toBeUndefined();
    expect(read('')).toBeUndefined();
  });

  test.each([
    ['k'.repeat(31), 'at least 32 characters'],
    [`${first},`, 'at least 32 characters'],
    [`${first},${first},${first}`, 'must be one key, or 2'],
  ])('%s is refused, and not shown', (value, message) => {
    expect(() => read(value)).toThrow(ConfigError);
    expect(() => read(value)).toThrow(message);
    expect(() => read(value)).not.toThrow(value);
  });
});
