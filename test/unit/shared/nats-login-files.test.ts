import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nkeys } from '@nats-io/nats-core';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { loginAuthenticator } from '@webcapture/shared/nats/login-files.ts';
import { readCommonConfig } from '@webcapture/shared/runtime/config.ts';
import { EnvReader } from '@webcapture/shared/runtime/env.ts';
import { credsOf, OperatorMode } from '../../harness/operator-mode.ts';

const operator = new OperatorMode();
const user = operator.user();
const other = operator.user();

let folder: string;
const pathOf = (name: string) => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(inject('tempFolder'), 'login-files-'));
  const seedOfAccount = Buffer.from(nkeys.createAccount().getSeed()).toString();
  const files = {
    'user.creds': user.creds,
    'windows.creds': `${user.creds.replaceAll('\n', '\r\n')}\r\n`,
    'mixed.creds': credsOf(user.jwt, other.seed),
    'empty.creds': '',
    'user.nk': `# a comment\n${user.seed}\n`,
    // Changes a character in the middle, because the last character has unused bits.
    'changed.nk': `${user.seed.slice(0, 20)}${user.seed[20] === 'A' ? 'B' : 'A'}${user.seed.slice(21)}`,
    'account.nk': seedOfAccount,
    'user.jwt': `${user.jwt}\n`,
    'other.jwt': other.jwt,
  };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(pathOf(name), text)));
});

/** Reads the configuration with these variables; the values of `_FILE` variables are names in the folder. */
function natsOf(variables: Readonly<Record<string, string>>) {
  const entries = Object.entries(variables).map(([name, value]) => [
    `WEBCAPTURE_NATS_${name}`,
    name.endsWith('_FILE') ? pathOf(value) : value,
  ]);
  const env = new EnvReader({ WEBCAPTURE_REGIONS: 'us-east', ...(Object.fromEntries(entries) as object) });
  return env.finish(() => readCommonConfig(env, { opsPort: 1 })).nats;
}

function problemsOf(variables: Readonly<Record<string, string>>): readonly string[] {
  try {
    natsOf(variables);
    return [];
  } catch (error) {
    return (error as Error).message.replaceAll(`${folder}/`, '').split('\n');
  }
}

test('a login consists of a creds file, of a seed, or of a seed and a JWT', () => {
  expect(natsOf({})).not.toHaveProperty('loginFiles');
  expect(natsOf({ CREDS_FILE: 'user.creds' }).loginFiles).toEqual({ creds: pathOf('user.creds') });
  expect(natsOf({ CREDS_FILE: 'windows.creds' }).loginFiles).toEqual({ creds: pathOf('windows.creds') });
  expect(natsOf({ NKEY_SEED_FILE: 'user.nk' }).loginFiles).toEqual({ seed: pathOf('user.nk') });
  expect(natsOf({ NKEY_SEED_FILE: 'user.nk', JWT_FILE: 'user.jwt' }).loginFiles).toEqual({
    seed: pathOf('user.nk'),
    jwt: pathOf('user.jwt'),
  });
});

describe('a login is refused if', () => {
  test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
    [
      'the creds file does not exist',
      { CREDS_FILE: 'no.creds' },
      ['WEBCAPTURE_NATS_CREDS_FILE must name a .creds file: no.creds cannot be read (ENOENT)'],
    ],
    [
      'the creds file is empty',
      { CREDS_FILE: 'empty.creds' },
      [
        'WEBCAPTURE_NATS_CREDS_FILE must name a .creds file: empty.creds has no JWT of a NATS user',
        'WEBCAPTURE_NATS_CREDS_FILE must name a .creds file: empty.creds has no valid seed of an NKey, which begins with SU',
      ],
    ],
    [
      'the creds file is a seed',
      { CREDS_FILE: 'user.nk' },
      [
        expect.stringContaining('user.nk has no JWT of a NATS user') as string,
        expect.stringContaining('user.nk has no valid seed of an NKey') as string,
      ],
    ],
    [
      'the JWT and the seed belong to two users',
      { CREDS_FILE: 'mixed.creds' },
      [
        `WEBCAPTURE_NATS_CREDS_FILE must name a .creds file: the JWT in mixed.creds is for the user ${user.publicKey}, and the seed in mixed.creds belongs to ${other.publicKey}`,
      ],
    ],
    [
      'the files of the seed and of the JWT belong to two users',
      { NKEY_SEED_FILE: 'user.nk', JWT_FILE: 'other.jwt' },
      [
        `WEBCAPTURE_NATS_JWT_FILE must name a file with the JWT of a user: the JWT in other.jwt is for the user ${other.publicKey}, and the seed in user.nk belongs to ${user.publicKey}`,
      ],
    ],
    [
      'the seed has a wrong character',
      { NKEY_SEED_FILE: 'changed.nk' },
      [
        'WEBCAPTURE_NATS_NKEY_SEED_FILE must name a file with the seed of a user: changed.nk has no valid seed of an NKey, which begins with SU',
      ],
    ],
    [
      'the seed is that of an account',
      { NKEY_SEED_FILE: 'account.nk' },
      [
        'WEBCAPTURE_NATS_NKEY_SEED_FILE must name a file with the seed of a user: account.nk has the seed of another key than that of a user: it must begin with SU',
      ],
    ],
    [
      'the file of the JWT has none, and the file of the seed does not exist',
      { NKEY_SEED_FILE: 'no.nk', JWT_FILE: 'user.nk' },
      [
        'WEBCAPTURE_NATS_NKEY_SEED_FILE must name a file with the seed of a user: no.nk cannot be read (ENOENT)',
        'WEBCAPTURE_NATS_JWT_FILE must name a file with the JWT of a user: user.nk has no JWT of a NATS user',
      ],
    ],
    [
      'there is a JWT without a seed',
      { JWT_FILE: 'user.jwt' },
      ['WEBCAPTURE_NATS_JWT_FILE needs WEBCAPTURE_NATS_NKEY_SEED_FILE: the seed of the user of the JWT'],
    ],
    [
      'there is also a user',
      { CREDS_FILE: 'user.creds', USER: 'front', PASSWORD: 'x' },
      ['WEBCAPTURE_NATS_USER must not be set together with WEBCAPTURE_NATS_CREDS_FILE: log in to NATS in only one way'],
    ],
    [
      'there is also a user in an address',
      { NKEY_SEED_FILE: 'user.nk', URL: 'nats://a:4222,nats://front:secret@b:4222' },
      [
        'WEBCAPTURE_NATS_URL must not contain a user together with WEBCAPTURE_NATS_NKEY_SEED_FILE: log in to NATS in only one way',
      ],
    ],
    [
      'there are a creds file and a seed file',
      { CREDS_FILE: 'user.creds', NKEY_SEED_FILE: 'user.nk' },
      [
        'WEBCAPTURE_NATS_CREDS_FILE must not be set together with WEBCAPTURE_NATS_NKEY_SEED_FILE: log in to NATS in only one way',
      ],
    ],
  ])('%s', (_, variables, problems) => {
    const found = problemsOf(variables);
    expect(found).toEqual(problems);
    expect(found.join()).not.toContain(user.seed.slice(2, -1));
  });
});

test('a login whose files become invalid is used until they are valid again', async () => {
  const file = pathOf('replaced.creds');
  const warnings: string[] = [];
  const log = { warn: (_: object, message: string) => void warnings.push(message) };
  await writeFile(file, user.creds);
  const authenticator = loginAuthenticator({ creds: file }, log as never);
  const loginOf = () => authenticator('a nonce') as { readonly jwt: string; readonly nkey: string };
  await writeFile(file, 'half of a file');
  expect(loginOf()).toMatchObject({ jwt: user.jwt, nkey: user.publicKey });
  expect(warnings).toEqual(['the files with the login for NATS are invalid; using the previous login']);
  await writeFile(file, other.creds);
  expect(loginOf()).toMatchObject({ jwt: other.jwt, nkey: other.publicKey });
  expect(warnings).toHaveLength(1);
});
