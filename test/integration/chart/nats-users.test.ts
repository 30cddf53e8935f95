// @module-tag long
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import type { accountsOf } from '../../../deploy/local/nats-users.ts';
import { secretKeyOf } from '../../harness/chart-nats.ts';
import { chartFolder, helmDeadlineMs, podOf, render } from '../../harness/helm.ts';

const run = promisify(execFile);
const command = fileURLToPath(new URL('../../../deploy/chart/nats-users.ts', import.meta.url));

interface Values {
  readonly config: {
    readonly merge: { readonly accounts: ReturnType<typeof accountsOf> };
  };
  readonly container: {
    readonly env: Readonly<Record<string, { readonly valueFrom: { readonly secretKeyRef: { readonly key: string } } }>>;
  };
}

const print = async (args: readonly string[]) =>
  parse((await run(process.execPath, [command, ...args])).stdout) as Values;

test(
  'the users of the official NATS chart are those of the examples for hub and satellite',
  async () => {
    const { config, container } = await print(['us-east', '--satellite', 'asia-southeast']);
    const keys = Object.values(container.env).map(({ valueFrom }) => valueFrom.secretKeyRef.key);
    const usersIn = Object.entries(config.merge.accounts).map(([name, { users }]) => [
      name,
      users.map(({ user }) => user),
    ]);
    expect(usersIn).toEqual([
      ['webcapture', ['backup', 'controller', 'front', 'operator']],
      ...['renderer-us-east', 'renderer-asia-southeast', 'satellite-asia-southeast'].map((name) => [name, [name]]),
    ]);
    expect(keys).toEqual(usersIn.flatMap(([, users]) => users).map((user) => `${user as string}-password`));
    const example = async (name: string) =>
      render(parse(await readFile(`${chartFolder}/examples/nats/${name}.yaml`, 'utf8')) as object);
    const objects = [...(await example('hub')), ...(await example('satellite'))];
    const containers = objects.flatMap((it) => podOf(it)?.containers ?? []).flatMap(({ env = [] }) => env);
    const used = new Set(containers.flatMap((it) => secretKeyOf(it) ?? []).map(({ key }) => key));
    for (const ofAnotherSecret of ['admin-token', 'secrets-key']) used.delete(ofAnotherSecret);
    expect([...used, 'backup-password', 'operator-password'].toSorted()).toEqual(keys.toSorted());

    // The official chart writes the configuration without these quotes.
    const text = JSON.stringify(config.merge, null, 1).replaceAll(/"<< (\$\w+) >>"/g, '$1');
    const file = join(await mkdtemp(join(inject('tempFolder'), 'nats-users-')), 'nats.conf');
    await writeFile(file, text.slice(1, -1));
    const env = Object.fromEntries(Object.keys(container.env).map((name) => [name, 'password']));
    await run(inject('tools').natsServer, ['-t', '-c', file], { env });

    const { stdout } = await run(process.execPath, [
      command,
      'us-east',
      '--satellite',
      'asia-southeast',
      '--format',
      'conf',
    ]);
    await writeFile(file, stdout);
    await run(inject('tools').natsServer, ['-t', '-c', file], { env });
    const unquoted = JSON.stringify(config.merge.accounts, null, 2).replaceAll(/"<< (\$\w+) >>"/g, '$1');
    expect(stdout).toContain(`accounts: ${unquoted}`);
  },
  helmDeadlineMs,
);

test('docs/regions.md creates each password before the values of NATS read it', async () => {
  const page = await readFile(new URL('../../../docs/regions.md', import.meta.url), 'utf8');
  const created = new Set<string>();
  const commands: string[] = [];
  for (const [, users, args] of page.matchAll(/for user in (.*?); do|nats-users -- (.*) > nats-users\.yaml/g)) {
    for (const user of users?.split(' ') ?? []) created.add(`${user}-password`);
    if (args === undefined) continue;
    commands.push(args);
    const { container } = await print(args.split(' '));
    const keys = Object.values(container.env).map(({ valueFrom }) => valueFrom.secretKeyRef.key);
    expect({ args, missing: keys.filter((key) => !created.has(key)) }).toEqual({ args, missing: [] });
  }
  expect(commands).toHaveLength(3);
});

test('users of a leaf node can use the domain of the fleet, but not the leaf node', async () => {
  const { config } = await print(['asia-southeast', '--satellite', 'asia-southeast', '--domain', 'hub']);
  const text = JSON.stringify(config);
  expect(text).toContain('"$JS.hub.API.$KV.live.cluster.asia-southeast.*"');
  expect(text).toContain('"$JS.hub.API.CONSUMER.MSG.NEXT.CAPTURES.asia-southeast-interactive"');
  expect(text).not.toMatch(/"\$(JS\.API|KV)\./);
  expect(config.merge.accounts['webcapture']?.users).toEqual([]);
});

test('commands for servers in operator mode create the same accounts', async () => {
  const args = ['us-east', '--satellite', 'asia-southeast'];
  const { accounts } = (await print(args)).config.merge;
  const { stdout } = await run(process.execPath, [command, ...args, '--format', 'nsc']);
  // Instead of nsc, this function prints each argument.
  const { stdout: called } = await run('sh', ['-c', `nsc() { printf '%s\\0' "$@"; echo; }\n${stdout}`]);
  const calls = called
    .trim()
    .split('\n')
    .map((line) => line.split('\0'));
  const of = (words: string, options: readonly string[]) =>
    calls
      .filter((call) => call.slice(0, 2).join(' ') === words)
      .map((call) => options.map((option) => call[call.indexOf(option) + 1]).join(' '));
  const all = Object.entries(accounts);
  expect(of('add account', ['--name'])).toEqual(Object.keys(accounts));
  expect(of('add export', ['--account', '--subject'])).toEqual(
    all.flatMap(([name, { exports }]) => exports.map(({ service, stream }) => `${name} ${service ?? stream}`)),
  );
  expect(of('add import', ['--account', '--local-subject']).toSorted()).toEqual(
    all
      .flatMap(([name, it]) => it.imports.map(({ service, stream }) => `${name} ${(service ?? stream)?.subject}`))
      .toSorted(),
  );
  expect(of('add user', ['--account', '--name', '--allow-pub', '--allow-sub'])).toEqual(
    all.flatMap(([name, { users }]) =>
      users.map(({ user, permissions }) =>
        [name, user, permissions?.publish.allow, permissions?.subscribe.allow].join(' '),
      ),
    ),
  );
  const exported = calls.filter((call) => call[1] === 'export');
  expect(exported.filter((call) => !call.includes('--private'))).toEqual([]);
  const streamed = exported
    .filter((call) => call.includes('Stream'))
    .map((call) => call[call.indexOf('--subject') + 1]);
  const exports = all.flatMap(([, it]) => it.exports).filter((it) => it.response_type === 'stream');
  expect(streamed).toEqual(exports.map(({ service }) => service));
});

test('--help explains the options, and an unknown option or region is refused', async () => {
  const { stdout } = await run(process.execPath, [command, '--help']);
  for (const option of ['satellite', 'format', 'prefix', 'domain', 'second', 'secret'])
    expect(stdout).toContain(`  --${option} `);
  await expect(run(process.execPath, [command, 'mars'])).rejects.toThrow(/There is no region mars/);
  await expect(run(process.execPath, [command, 'us-east', '--satelite', 'us-west'])).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^Unknown option '--satelite'.*\n\nUsage: npm run/) as string,
  });
});

test('second users for a rotation have the permissions and the account of the first ones', async () => {
  const args = ['us-east', '--satellite', 'asia-southeast'];
  const seconds = ['--second', 'renderer=renderer2', '--second', 'satellite=satellite2'];
  const { config, container } = await print([...args, ...seconds]);
  const { accounts } = config.merge;
  for (const name of ['renderer-us-east', 'renderer-asia-southeast', 'satellite-asia-southeast']) {
    const [first, second] = accounts[name]?.users ?? [];
    const user = name.replace(/^(renderer|satellite)/, '$12');
    const variable = `${user.toUpperCase().replaceAll('-', '_')}_PASSWORD`;
    expect(second).toEqual({ ...first, user, password: `<< $${variable} >>` });
    expect(container.env[variable]?.valueFrom.secretKeyRef.key).toBe(`${user}-password`);
  }
  expect(accounts['webcapture']).toEqual((await print(args)).config.merge.accounts['webcapture']);
  await expect(print([...args, '--second', 'renderer'])).rejects.toThrow(/--second must be a service and another name/);
});
