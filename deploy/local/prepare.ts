import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { BucketConfig } from '@webcapture/shared/runtime/config.ts';
import { banner } from './banner.ts';
import { chooseSandbox } from './chromium-sandbox.ts';
import { demoKey, keptSecretsKey } from './kept-keys.ts';
import { natsLogEntry } from './nats-log.ts';
import { createNatsUsers } from './nats-users.ts';
import { freePort, isPortTaken } from './ports.ts';
import { natsSpec, serviceSpecs, type ServiceContext } from './services.ts';
import type { StartSettings } from './settings.ts';
import { setUpTools } from './set-up-tools.ts';
import { StartError } from './start-error.ts';
import type { ProcessSpec } from './supervisor.ts';

export interface PrepareOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly root: string;
  readonly settings: StartSettings;
  readonly signal: AbortSignal;
  /** Receives lines about the start itself. */
  readonly note: (line: string) => void;
  /** Receives the lines that the processes print. */
  readonly output: (name: string, line: string) => void;
  /** Replaces the real set-up in tests. */
  readonly setUp?: typeof setUpTools;
  readonly services?: (context: ServiceContext) => readonly ProcessSpec[];
}

export interface Prepared {
  readonly processes: readonly ProcessSpec[];
  /** Returns the text to print when all processes are ready. */
  readonly banner: () => string;
}

/** Prepares everything that the processes need. Throws a StartError if something is missing. */
export async function prepare(options: PrepareOptions): Promise<Prepared> {
  const { env, root, settings, signal, note, output } = options;
  const port = await choosePort(settings);
  const tools = await (options.setUp ?? setUpTools)({ env, withNats: !settings.natsUrl, log: note, signal });
  const sandbox = settings.sandbox ?? (await chooseAndSay(tools.headlessShell, note, signal));
  const files = settings.bucket && (await checkFiles(settings.bucket, note, signal));
  const apiKey = settings.apiKey ?? (await demoKey(settings.dataDir));
  const secretsKey = env['WEBCAPTURE_SECRETS_KEY'] || (await keptSecretsKey(settings.dataDir));

  // The front accepts the code only from this machine.
  const signInCode = isOnLoopback(settings.host) ? randomBytes(24).toString('base64url') : undefined;

  let natsUrl = settings.natsUrl ?? '';
  const opsPorts = new Map<string, number>();
  // The users are created only for this start, so that a leaked password of an earlier start is useless.
  const natsUsers = tools.natsServer ? createNatsUsers(settings.natsPrefix) : undefined;
  const nats =
    tools.natsServer && natsUsers
      ? [
          natsSpec({
            dataDir: join(settings.dataDir, 'nats'),
            toolPath: tools.natsServer,
            users: natsUsers,
            log: (line) => {
              const entry = natsLogEntry(line);
              if (entry !== undefined) output('nats', entry);
            },
            note,
            onUrl: (url) => (natsUrl = url),
          }),
        ]
      : [];
  const services = (options.services ?? serviceSpecs)({
    root,
    env,
    settings,
    port,
    apiKey,
    secretsKey,
    natsUrl: () => natsUrl,
    opsPorts,
    natsUsers,
    headlessShellPath: tools.headlessShell,
    chromiumPath: tools.chromium,
    filtersPath: tools.filters,
    sandbox,
    signInCode,
    output,
  });
  const regions = settings.regions.map(({ region }) => region);
  return {
    processes: [...nats, ...services],
    banner: () =>
      banner({
        host: settings.host,
        port,
        apiKey,
        signInCode,
        dataDir: settings.dataDir,
        files,
        regions,
        natsUrl,
        opsPorts,
      }),
  };
}

/** Checks the bucket of the files, and returns its address. The libraries of buckets are not loaded for the embedded store. */
async function checkFiles(bucket: BucketConfig, note: (line: string) => void, signal: AbortSignal): Promise<string> {
  const { bucketAddress, checkBucket } = await import('./check-bucket.ts');
  await checkBucket(bucket, note, signal);
  return bucketAddress(bucket);
}

/** Whether a server on the host is reachable at a loopback address. */
function isOnLoopback(host: string): boolean {
  return ['localhost', '0.0.0.0', '::', '::1'].includes(host) || host.startsWith('127.');
}

async function choosePort({ port, host }: StartSettings): Promise<number> {
  try {
    if (port === 0) return await freePort(host);
    if (!(await isPortTaken(port, host))) return port;
  } catch (error) {
    throw new StartError(`cannot listen on ${host} port ${port} (WEBCAPTURE_HOST, PORT): ${(error as Error).message}`, {
      cause: error,
    });
  }
  throw new StartError(`port ${port} on ${host} is already taken: stop what listens there, or set PORT to another one`);
}

async function chooseAndSay(
  browserPath: string,
  note: (line: string) => void,
  signal: AbortSignal,
): Promise<'on' | 'off'> {
  const { sandbox, reason } = await chooseSandbox(browserPath, signal);
  if (reason !== undefined) {
    note(`Chromium's own sandbox is off: ${reason} (WEBCAPTURE_CHROMIUM_SANDBOX decides otherwise)`);
  }
  return sandbox;
}
