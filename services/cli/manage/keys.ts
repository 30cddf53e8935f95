import type { ApiKey, NewApiKey } from '@webcapture/client';
import { Command } from 'commander';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import { addConnectionFlags, type ConnectionFlags, connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { json } from '../json.ts';
import { table } from '../text.ts';
import { integer } from '../flag-values.ts';

interface KeyFlags extends ConnectionFlags {
  readonly json?: boolean;
}

interface CreateFlags extends KeyFlags {
  readonly scopes?: string;
  readonly expiresAt?: string;
}

export function keysCommand(context: Context): Command {
  const list = new Command('list')
    .description('List the API keys of the account, newest first.')
    .action((flags: KeyFlags) => listKeys(context, flags));
  const create = new Command('create')
    .description('Create an API key. The key is shown only once.')
    .argument('<name>')
    .option('--scopes <list>', `scopes, separated by commas: ${scopes.join(', ')} (default: capture,read)`)
    .option('--expires-at <time>', 'when the key expires, such as 2030-01-31T00:00:00Z')
    .action((name: string, flags: CreateFlags) => createKey(context, name, flags));
  const rotate = new Command('rotate')
    .description('Create a key that replaces another one. The new key is shown only once.')
    .argument('<id>')
    .option('--grace-seconds <number>', 'how long the old key keeps working (default: 3600)', integer(0, 2_592_000))
    .action(async (id: string, { graceSeconds, ...flags }: KeyFlags & { graceSeconds?: number }) => {
      const { client } = await connect(context, flags);
      showNewKey(
        context,
        await client.rotateKey(id, graceSeconds === undefined ? {} : { graceSeconds }, context),
        flags,
      );
    });
  const revoke = new Command('revoke')
    .description('Revoke an API key.')
    .argument('<id>')
    .option('--cascade', 'also revoke the keys that were created with it, recursively')
    .action((id: string, flags: KeyFlags & { cascade?: boolean }) => revokeKey(context, id, flags));
  const command = new Command('keys').description('List, create, rotate and revoke API keys.');
  for (const each of [list, create, rotate, revoke]) {
    command.addCommand(addConnectionFlags(each.option('--json', 'print JSON')));
  }
  return command;
}

async function listKeys(context: Context, flags: KeyFlags): Promise<void> {
  const { terminal, signal } = context;
  const { client } = await connect(context, flags);
  const keys: ApiKey[] = [];
  for await (const key of client.listKeys({ limit: 100, signal })) keys.push(key);
  if (flags.json === true) {
    terminal.stdout.write(json(keys));
    return;
  }
  const rows = keys.map((key) => [key.id, key.status, key.scopes.join(','), key.createdAt, key.expiresAt, key.name]);
  const header = ['ID', 'STATUS', 'SCOPES', 'CREATED', 'EXPIRES', 'NAME'];
  terminal.stdout.write(table(header, rows, terminal.stdout.columns));
}

async function createKey(
  context: Context,
  name: string,
  { scopes: list, expiresAt, ...flags }: CreateFlags,
): Promise<void> {
  const wanted = list?.split(',').map((scope) => scopes.find((each) => each === scope.trim()));
  if (wanted?.includes(undefined) === true) {
    throw new CliError(
      'usage',
      `--scopes must be one or more of ${scopes.join(', ')}, separated by commas, not "${list}".`,
    );
  }
  const { client } = await connect(context, flags);
  const body = {
    name,
    ...(wanted === undefined ? {} : { scopes: wanted.filter((scope) => scope !== undefined) }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
  showNewKey(context, await client.createKey(body, context), flags);
}

/** Prints only the key to stdout, for use in scripts. */
function showNewKey({ terminal }: Context, key: NewApiKey, flags: KeyFlags): void {
  if (flags.json === true) {
    terminal.stdout.write(json(key));
    return;
  }
  terminal.stderr.write(
    `${key.id}: ${key.scopes.join(', ')}, ${key.expiresAt === null ? 'does not expire' : `expires ${key.expiresAt}`}. The key is shown only once:\n`,
  );
  terminal.stdout.write(`${key.key}\n`);
}

async function revokeKey(
  context: Context,
  id: string,
  { cascade, ...flags }: KeyFlags & { cascade?: boolean },
): Promise<void> {
  const { terminal, signal } = context;
  const { client } = await connect(context, flags);
  const revoked = await client.revokeKey(id, { cascade: cascade === true, signal });
  if (flags.json === true) {
    terminal.stdout.write(json(revoked));
    return;
  }
  const also = revoked.alsoRevoked?.length ?? 0;
  terminal.stdout.write(`Revoked ${id}${also === 0 ? '' : ` and ${also} keys created with it`}.\n`);
  if (revoked.isComplete === false)
    throw new CliError('unavailable', 'There were too many keys for one request. Run the command again.');
}
