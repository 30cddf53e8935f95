import type { CreateSession, Session } from '@webcapture/client';
import { Command } from 'commander';
import { maxLifetimeSeconds } from '@webcapture/shared/api/option-schemas.ts';
import { optionsWithoutLogin } from '@webcapture/shared/api/session.ts';
import { addCaptureFlags, readCaptureFlags } from '../capture/flags.ts';
import { addConnectionFlags, type ConnectionFlags, connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { integer } from '../flag-values.ts';
import { json } from '../json.ts';
import { showWhile } from '../terminal.ts';
import { table } from '../text.ts';

interface SessionFlags extends ConnectionFlags {
  readonly json?: boolean;
}

interface CreateFlags extends SessionFlags {
  readonly name?: string;
  readonly expiresIn?: number;
}

export function sessionsCommand(context: Context): Command {
  const create = addCaptureFlags(new Command('create'), { without: optionsWithoutLogin })
    .description(
      'Log in on a page, usually with --steps, and keep its cookies and storage. Prints the ID for --session.',
    )
    .argument('<url>', 'http or https URL of the page that logs in')
    .option('--name <name>', 'name of the session, for lists')
    .option('--expires-in <seconds>', 'how long the session is kept (default: 86400)', integer(60, maxLifetimeSeconds))
    .action((url: string, flags: CreateFlags) => createSession(context, url, flags));
  const list = new Command('list')
    .description('List the sessions of the account, newest first.')
    .action((flags: SessionFlags) => listSessions(context, flags));
  const remove = new Command('delete')
    .description('Delete a session.')
    .argument('<id>')
    .action(async (id: string, flags: SessionFlags) => {
      const { client } = await connect(context, flags);
      const session = await client.deleteSession(id, context);
      context.terminal.stdout.write(flags.json === true ? json(session) : `Deleted ${id}.\n`);
    });
  const command = new Command('sessions').description('Create, list and delete sessions, which log captures in.');
  for (const each of [create, list, remove]) {
    command.addCommand(addConnectionFlags(each.option('--json', 'print JSON')));
  }
  return command;
}

/** Prints only the ID to stdout, for use in scripts. */
async function createSession(context: Context, url: string, flags: CreateFlags): Promise<void> {
  const { terminal, signal } = context;
  const { name, expiresIn } = flags;
  const options = await readCaptureFlags({ ...flags });
  const body = {
    ...options,
    url,
    ...(name === undefined ? {} : { name }),
    ...(expiresIn === undefined ? {} : { expiresIn }),
  } as CreateSession;
  const { client } = await connect(context, flags);
  const session: Session = await showWhile(terminal, 'Logging in', () => client.createSession(body, { signal }));
  if (flags.json === true) {
    terminal.stdout.write(json(session));
    return;
  }
  const { sessionId, sites, expiresAt } = session;
  terminal.stderr.write(
    `Session for ${sites.join(', ')}, expires ${expiresAt}. "webcapture captures get ${sessionId}" shows the capture that logged in.\n`,
  );
  terminal.stdout.write(`${sessionId}\n`);
}

async function listSessions(context: Context, flags: SessionFlags): Promise<void> {
  const { stdout } = context.terminal;
  const { client } = await connect(context, flags);
  const sessions = await client.listSessions(context);
  if (flags.json === true) {
    stdout.write(json(sessions));
    return;
  }
  const rows = sessions.map(({ sessionId, name, sites, createdAt, expiresAt }) => [
    sessionId,
    createdAt,
    expiresAt,
    sites.join(','),
    name ?? '',
  ]);
  stdout.write(table(['ID', 'CREATED', 'EXPIRES', 'SITES', 'NAME'], rows, stdout.columns));
}
