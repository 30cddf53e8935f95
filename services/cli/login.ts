import { type Webcapture, WebcaptureError } from '@webcapture/client';
import { Command } from 'commander';
import { checkKey, checkUrl, createClient, defaultProfile, defaultUrl, saveProfile } from './connection.ts';
import type { Context } from './context.ts';
import { CliError } from './errors.ts';
import { ask, readAll } from './terminal.ts';
import { plainText } from './text.ts';

interface LoginFlags {
  readonly server?: string;
  readonly profile?: string;
  readonly apiKeyStdin?: boolean;
}

export function loginCommand(context: Context): Command {
  return new Command('login')
    .description('Check an API key and store it in a profile that only you can read.')
    .option('--server <url>', 'address of the service (WEBCAPTURE_URL; asked for on a terminal)')
    .option('--profile <name>', `name of the profile (WEBCAPTURE_PROFILE; default: ${defaultProfile})`)
    .option('--api-key-stdin', 'read the API key from standard input')
    .action((flags: LoginFlags) => login(context, flags));
}

async function login(context: Context, flags: LoginFlags): Promise<void> {
  const { terminal, env, signal } = context;
  const name = flags.profile ?? (env['WEBCAPTURE_PROFILE'] || defaultProfile);
  if (!/^[\w.-]{1,64}$/.test(name)) {
    throw new CliError('usage', '--profile must be 1 to 64 letters, digits, dots, dashes or underscores.');
  }
  const url = await serverOf(context, flags);
  const apiKey = checkKey(await keyOf(context, flags));
  const refusal = await refusalOf(createClient({ url, apiKey }), signal);
  const path = await saveProfile(env, name, { url, apiKey });
  const finding =
    refusal === null ? 'The key works.' : `The key exists, but the service does not show its usage: ${refusal}`;
  terminal.stderr.write(plainText(`${finding} Saved as profile "${name}" of ${url} in ${path}.\n`));
}

/** Returns the service's message for a valid key that lacks the scope read or whose account is suspended. */
async function refusalOf(client: Webcapture, signal: AbortSignal): Promise<string | null> {
  try {
    await client.getUsage({ signal });
    return null;
  } catch (error) {
    if (error instanceof WebcaptureError && error.code === 'FORBIDDEN') return error.message;
    throw error;
  }
}

async function serverOf({ terminal, env }: Context, flags: LoginFlags): Promise<string> {
  if (flags.server !== undefined) return checkUrl(flags.server);
  const url = checkUrl(env['WEBCAPTURE_URL'] || defaultUrl);
  if (terminal.stdin.isTTY !== true || flags.apiKeyStdin === true) return url;
  const answer = await ask(terminal, `Address of the service [${url}]: `);
  return answer.trim() === '' ? url : checkUrl(answer);
}

async function keyOf({ terminal }: Context, flags: LoginFlags): Promise<string> {
  if (flags.apiKeyStdin === true) return (await readAll(terminal.stdin)).toString();
  if (terminal.stdin.isTTY === true) return ask(terminal, 'API key (not shown): ', { hidden: true });
  throw new CliError(
    'usage',
    'Without a terminal, pass the key on standard input: webcapture login --api-key-stdin < key-file',
  );
}
