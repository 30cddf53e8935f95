import { mkdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Webcapture } from '@webcapture/client';
import { type Command, Option } from 'commander';
import type { Context } from './context.ts';
import { CliError, fileError, isFileError } from './errors.ts';
import { readUserFile, writeAtomically } from './files.ts';
import { isObject, parseJson } from './json.ts';
import packageJson from './package.json' with { type: 'json' };

/** Flags of every command that sends requests to the service. */
export interface ConnectionFlags {
  readonly server?: string;
  readonly apiKey?: string;
  readonly profile?: string;
}

/** The address of a service and the API key for it. */
export interface Connection {
  readonly url: string;
  /** Undefined if the command needs none, or none is configured. */
  readonly apiKey: string | undefined;
}

/** Address of the service of `npm start`. */
export const defaultUrl = 'http://127.0.0.1:3000';
export const defaultProfile = 'default';

const heading = 'Connection:';

export function addConnectionFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--server <url>', `address of the service (WEBCAPTURE_URL; default: ${defaultUrl})`).helpGroup(
        heading,
      ),
    )
    .addOption(
      new Option(
        '--api-key <key>',
        'API key; the list of processes shows it to other users, so prefer WEBCAPTURE_API_KEY or "webcapture login"',
      ).helpGroup(heading),
    )
    .addOption(new Option('--profile <name>', 'profile of "webcapture login" (WEBCAPTURE_PROFILE)').helpGroup(heading));
}

/** Creates a client for the service. Address and key come from flags, environment and profile, in this order. */
export async function connect(
  { env }: Pick<Context, 'env'>,
  flags: ConnectionFlags,
  options: { needsKey?: boolean; maxRetries?: number } = {},
): Promise<{ client: Webcapture; url: string }> {
  const connection = await (options.needsKey === false ? findConnection : requireConnection)(env, flags);
  return { client: createClient(connection, options), url: connection.url };
}

/** @throws CliError `authentication` if there is no API key; `usage` */
export async function requireConnection(
  env: NodeJS.ProcessEnv,
  flags: ConnectionFlags,
): Promise<{ readonly url: string; readonly apiKey: string }> {
  const { url, apiKey } = await findConnection(env, flags);
  if (apiKey !== undefined) return { url, apiKey };
  throw new CliError(
    'authentication',
    `There is no API key for ${url}. Set WEBCAPTURE_API_KEY, or run "webcapture login".`,
  );
}

export function createClient(
  { url, apiKey }: Connection,
  { maxRetries }: { readonly maxRetries?: number } = {},
): Webcapture {
  return new Webcapture({ url, apiKey, maxRetries, userAgent: `webcapture-cli/${packageJson.version}` });
}

/**
 * The address and the key of a profile are used together, so that a key is not sent to another address than the one for which it was
 * created.
 */
async function findConnection(env: NodeJS.ProcessEnv, flags: ConnectionFlags): Promise<Connection> {
  const name = flags.profile ?? (env['WEBCAPTURE_PROFILE'] || undefined);
  const givenUrl = flags.server ?? (env['WEBCAPTURE_URL'] || undefined);
  const givenKey = flags.apiKey ?? (env['WEBCAPTURE_API_KEY'] || undefined);
  // If the address and the key are given, the file is not needed and may be unreadable.
  const isComplete = name === undefined && givenUrl !== undefined && givenKey !== undefined;
  const profile = isComplete ? undefined : await readProfile(env, name);
  const url = checkUrl(givenUrl ?? profile?.url ?? defaultUrl);
  const isProfilesService = profile !== undefined && checkUrl(profile.url) === url;
  const apiKey = givenKey ?? (isProfilesService ? profile.apiKey : undefined);
  return { url, apiKey: apiKey === undefined ? undefined : checkKey(apiKey) };
}

/** Returns the address without trailing slashes. @throws CliError `usage` */
export function checkUrl(text: string): string {
  const url = URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CliError(
      'usage',
      `The address of the service must be an http or https URL such as ${defaultUrl}, not "${text}". Check --server and WEBCAPTURE_URL.`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new CliError('usage', 'The address of the service must not contain a user name or password.');
  }
  return url.href.replace(/\/+$/, '');
}

/** Validates that a header can contain the key. Otherwise fetch would fail with an error that contains the key. @throws CliError `usage` */
export function checkKey(text: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new CliError('usage', 'The API key is empty or contains invalid characters. Copy it again.');
}

interface Profile extends Connection {
  readonly apiKey: string;
}

interface ConfigFile {
  readonly current: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

function configPath(env: NodeJS.ProcessEnv): string {
  return join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'webcapture', 'config.json');
}

/** Returns the named profile, or the one of the last login; undefined if there was no login. */
async function readProfile(env: NodeJS.ProcessEnv, name: string | undefined): Promise<Profile | undefined> {
  const config = await readConfig(configPath(env));
  if (config === undefined && name === undefined) return undefined;
  const wanted = name ?? config?.current ?? defaultProfile;
  const profile = Object.entries(config?.profiles ?? {}).find(([each]) => each === wanted)?.[1];
  if (profile !== undefined || name === undefined) return profile;
  const known = Object.keys(config?.profiles ?? {});
  const others = known.length === 0 ? 'There are no profiles.' : `Profiles: ${known.join(', ')}.`;
  throw new CliError(
    'usage',
    `There is no profile "${wanted}". ${others} "webcapture login --profile ${wanted}" creates it.`,
  );
}

/**
 * Returns undefined if there is no file. @throws CliError if other users can read the file, or it is not a
 * configuration file
 */
async function readConfig(path: string): Promise<ConfigFile | undefined> {
  try {
    const { mode } = await stat(path);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new CliError('usage', `Other users can access ${path}, which contains API keys. Run: chmod 600 ${path}`);
    }
  } catch (error) {
    if (!isFileError(error)) throw error;
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw fileError(error, path);
  }
  const config = parseConfig((await readUserFile(path)).toString());
  if (config !== undefined) return config;
  throw new CliError(
    'usage',
    `${path} is not a configuration file of webcapture. Remove it and run "webcapture login".`,
  );
}

function parseConfig(text: string): ConfigFile | undefined {
  const config = parseJson(text);
  if (!isObject(config)) return undefined;
  const { current, profiles } = config;
  if (typeof current !== 'string' || !isObject(profiles)) return undefined;
  const areProfiles = Object.values(profiles).every(
    (each) => isObject(each) && typeof each['url'] === 'string' && typeof each['apiKey'] === 'string',
  );
  return areProfiles ? { current, profiles: profiles as Record<string, Profile> } : undefined;
}

/** Adds or replaces the profile and makes it the current one. Only the owner can read the file. */
export async function saveProfile(env: NodeJS.ProcessEnv, name: string, profile: Profile): Promise<string> {
  const path = configPath(env);
  const config = await readConfig(path);
  const folder = dirname(path);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const changed: ConfigFile = { current: name, profiles: { ...config?.profiles, [name]: profile } };
    await writeAtomically(path, `${JSON.stringify(changed, null, 2)}\n`, { mode: 0o600 });
  } catch (error) {
    throw isFileError(error) ? fileError(error, path) : error;
  }
  return path;
}
