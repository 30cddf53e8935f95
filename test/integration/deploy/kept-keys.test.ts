import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { demoKey, keptSecretsKey } from '../../../deploy/local/kept-keys.ts';
import { tempDir } from './support.ts';

test('the demo key is created once, readable only by its owner', async () => {
  const folder = await tempDir();
  const key = await demoKey(join(folder, 'data'));
  expect(key).toMatch(/^wc_live_[0-9A-Za-z]{38}$/);
  expect(await demoKey(join(folder, 'data'))).toBe(key);
  expect(await demoKey(join(folder, 'other'))).not.toBe(key);
  expect((await stat(join(folder, 'data', 'demo-key'))).mode & 0o777).toBe(0o600);
});

test('the key that seals secrets is created once, readable only by its owner', async () => {
  const folder = await tempDir();
  const key = await keptSecretsKey(folder);
  expect(Buffer.from(key, 'base64url')).toHaveLength(32);
  expect(await keptSecretsKey(folder)).toBe(key);
  expect((await stat(join(folder, 'secrets-key'))).mode & 0o777).toBe(0o600);
});

test('a corrupt file is replaced', async () => {
  const folder = await tempDir();
  await writeFile(join(folder, 'demo-key'), '');
  expect(await demoKey(folder)).toMatch(/^wc_live_/);
});
