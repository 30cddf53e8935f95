// @module-tag long
import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { permissions, subjectFor, type accountsOf } from '../../../deploy/local/nats-users.ts';
import { natsConfigOf } from '../../harness/chart-nats.ts';
import { envOf, find, helmDeadlineMs, type KubeObject, render } from '../../harness/helm.ts';

const run = promisify(execFile);
const command = fileURLToPath(new URL('../../../deploy/chart/nats-users.ts', import.meta.url));
const prefix = 'acme';

let objects: readonly KubeObject[];
beforeAll(async () => {
  objects = await render({ nats: { prefix }, regions: [{ name: 'us-east' }] });
}, helmDeadlineMs);

describe('with nats.prefix', () => {
  test('every service has the prefix', () => {
    for (const name of ['front', 'controller', 'renderer-us-east']) {
      expect(envOf(find(objects, 'Deployment', `wc-webcapture-${name}`))['WEBCAPTURE_NATS_PREFIX']).toBe(prefix);
    }
  });

  test('the users of the embedded NATS may use the names with the prefix only', async () => {
    const config = natsConfigOf(objects);
    const { satellite: _, ...ofHub } = permissions;
    const all = Object.values(ofHub)
      .flatMap((user) => [...user.publish, ...user.subscribe].flatMap(({ subjects }) => subjects))
      .filter((subject) => subject.includes('{prefix}'));
    const inConfig = (subject: string, of: string) =>
      config.includes(JSON.stringify(subjectFor(subject, { region: 'us-east', prefix: of })));
    expect(all.filter((subject) => !inConfig(subject, prefix))).toEqual([]);
    expect(all.filter((subject) => inConfig(subject, ''))).toEqual([]);
    expect(config).not.toMatch(/\{(?:region|prefix)\}/);
    const folder = await mkdtemp(join(inject('tempFolder'), 'nats-prefix-'));
    await writeFile(join(folder, 'nats.conf'), config);
    const env = Object.fromEntries(Array.from(config.matchAll(/\$(\w+_PASSWORD)/g), ([, name = '']) => [name, 'p']));
    await run(inject('tools').natsServer, ['-t', '-c', join(folder, 'nats.conf')], { env });
  });

  test(
    'a prefix that is not part of a token is refused',
    async () => {
      await expect(render({ nats: { prefix: 'a.b' } })).rejects.toThrow(/prefix/);
    },
    helmDeadlineMs,
  );
});

test('nats-users prints users, accounts and subjects with the prefix', async () => {
  const args = [command, 'us-east', '--satellite', 'asia-east', '--prefix', prefix, '--second', 'renderer=renderer2'];
  const { config, container } = parse((await run(process.execPath, args)).stdout) as {
    config: { merge: { accounts: ReturnType<typeof accountsOf> } };
    container: { env: object };
  };
  const { accounts } = config.merge;
  expect(Object.entries(accounts).map(([name, { users }]) => [name, users.map(({ user }) => user)])).toEqual([
    ['webcapture', ['acme-backup', 'acme-controller', 'acme-front', 'acme-operator']],
    ['acme-renderer-us-east', ['acme-renderer-us-east', 'acme-renderer2-us-east']],
    ['acme-renderer-asia-east', ['acme-renderer-asia-east', 'acme-renderer2-asia-east']],
    ['acme-satellite-asia-east', ['acme-satellite-asia-east']],
  ]);
  expect(Object.keys(container.env)).toContain('ACME_RENDERER_US_EAST_PASSWORD');
  const text = JSON.stringify(accounts);
  expect(text).not.toMatch(/\$KV\.(?!acme-)|KV_(?!acme-)|_INBOX\.(?!acme-)|\.(?:CAPTURES|FILES|RESULTS|TASKS)\b/);
  expect(text).not.toMatch(/"(?:captures|results|replies|held|signals|tasks|later|expiry|files)\./);
  await expect(run(process.execPath, [command, 'us-east', '--prefix', 'a.b'])).rejects.toThrow(/--prefix must be/);
});
