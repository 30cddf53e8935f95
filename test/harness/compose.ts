import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { imageConfig } from '../../deploy/docker/image-config.ts';
import { startProcess, type GuardedProcess } from '../../deploy/local/process.ts';
import { freePort } from './free-port.ts';
import type { ToolPaths } from './tools.ts';
import { until } from './until.ts';

export const root = fileURLToPath(new URL('../../', import.meta.url));
export const composeFolder = join(root, 'deploy/compose');

export interface Mount {
  readonly type: 'bind' | 'volume';
  readonly source: string;
  readonly target: string;
  readonly read_only?: boolean;
  readonly volume?: { readonly nocopy?: boolean };
}

export interface ComposeService {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string; readonly target: string };
  readonly command: readonly string[];
  readonly user: string;
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly restart: string;
  readonly tmpfs: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly networks?: readonly string[];
  readonly network_mode?: string;
  readonly ports?: readonly string[];
  readonly mem_limit?: string;
  readonly stop_grace_period?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly secrets?: readonly { readonly source: string; readonly target: string }[];
  readonly volumes: readonly (string | Mount)[];
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, object>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly volumes: Readonly<Record<string, object>>;
}

export const variablePattern = /\$\{(\w+):([-+])([^}]*)\}/g;

export const composeText = () => readFile(join(composeFolder, 'compose.yaml'), 'utf8');

/** Returns compose.yaml with these variables, as Compose interpolates them. An empty variable counts as not set. */
export async function readCompose(variables: NodeJS.Dict<string> = {}): Promise<ComposeFile> {
  const text = (await composeText()).replaceAll(variablePattern, (_, name: string, operator: string, other: string) => {
    const value = variables[name] ?? '';
    return (operator === '-') === (value === '') ? other : value;
  });
  return parse(text, { merge: true }) as ComposeFile;
}

/** Returns the mounts of a service, also those in the short syntax. */
export function mountsOf({ volumes }: ComposeService): readonly Mount[] {
  return volumes.map((mount) => {
    if (typeof mount !== 'string') return mount;
    const [source = '', target = '', mode] = mount.split(':');
    return { type: source.startsWith('.') ? 'bind' : 'volume', source, target, read_only: mode === 'ro' };
  });
}

/** The long-running services, in the order in which they start. */
const longRunning = ['nats', 'controller', 'front', 'renderer'] as const;

/** The services of compose.yaml as processes on this machine. */
export interface RunningProject extends AsyncDisposable {
  readonly url: string;
  /** All lines that the services have printed. */
  readonly logs: () => string;
}

/**
 * Starts the services of compose.yaml with their commands, variables and mounts, and waits until their health checks pass. There are no
 * containers: paths lead into `folder`, host names to 127.0.0.1, and ports to free ones. Volumes stay in `folder`.
 */
export async function startProject(folder: string, tools: ToolPaths): Promise<RunningProject> {
  const { services } = await readCompose({ WEBCAPTURE_CHROMIUM_SANDBOX: tools.sandbox });
  const ports = new Map<string, string>();
  for (const port of ['3000', '4222', '8222', '9090', '9091', '9092']) ports.set(port, String(await freePort()));
  const lines: string[] = [];
  const running: GuardedProcess[] = [];
  const stop = async () => {
    for (const it of running.splice(0).toReversed()) await it.stop();
  };

  const start = async (name: string): Promise<GuardedProcess> => {
    const service = services[name];
    if (service === undefined) throw new Error(`compose.yaml has no service ${name}`);
    const container = join(folder, name);
    const here = (text: string) =>
      text
        .replaceAll('//nats:', '//127.0.0.1:')
        .replaceAll('0.0.0.0', '127.0.0.1')
        .replaceAll(/\b\d{4}\b/g, (number) => ports.get(number) ?? number)
        .replaceAll(/(?<![\w/.])(?=\/(?:run|var|etc|data|tmp)\b)/g, container);
    await mkdir(join(container, 'tmp'), { recursive: true });
    for (const mount of mountsOf(service)) await place(mount, { folder, container, here });
    const { command, args, env } = programOf(service, tools);
    const variables = Object.entries({ ...env, ...service.environment, HOME: '/tmp', TMPDIR: '/tmp' });
    const started = await startProcess({
      name,
      command,
      args: args.map((arg) => here(arg)),
      cwd: root,
      env: {
        ...Object.fromEntries(variables.map(([key, value]) => [key, here(value)])),
        ...standIns(name, tools),
      },
      onLine: (line) => void lines.push(`${name}: ${line}`),
    });
    running.push(started);
    if (service.healthcheck === undefined) return started;
    const check = service.healthcheck.test.map((part) => here(part));
    let hasEnded = false;
    void started.exited.then(() => (hasEnded = true));
    await until(`${name} to be healthy`, () => hasEnded || isHealthy(check));
    if (hasEnded) throw new Error(`${name} ended at its start`);
    return started;
  };

  try {
    const { code } = await (await start('prepare')).exited;
    if (code !== 0) throw new Error(`prepare ended with code ${code}`);
    await start('nats');
    await Promise.all(longRunning.slice(1).map((name) => start(name)));
  } catch (error) {
    await stop();
    throw new Error(`the project did not start. Its last lines:\n${lines.slice(-20).join('\n')}`, { cause: error });
  }
  return { url: `http://127.0.0.1:${ports.get('3000')}`, logs: () => lines.join('\n'), [Symbol.asyncDispose]: stop };
}

/** Places a mount where the process of the service looks for it. */
async function place(
  { type, source, target }: Mount,
  { folder, container, here }: { folder: string; container: string; here: (text: string) => string },
): Promise<void> {
  // The working folder of the images is the root of this repository.
  if (target.startsWith('/opt/webcapture/')) return;
  const path = join(container, target);
  await mkdir(dirname(path), { recursive: true });
  if (type === 'bind') return writeFile(path, here(await readFile(resolve(composeFolder, source), 'utf8')));
  const volume = join(folder, 'volumes', source);
  await mkdir(volume, { recursive: true });
  await symlink(volume, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** Returns the program of a container: the entry point of its image, with the command of the service. */
function programOf({ image, command }: ComposeService, tools: ToolPaths) {
  const [, name] = /\/webcapture\/(front|renderer):/.exec(image) ?? [];
  if (name !== 'front' && name !== 'renderer') return { command: tools.natsServer, args: command, env: {} };
  const { config } = imageConfig(name, []) as {
    config: { readonly Entrypoint: readonly string[]; readonly Env: readonly string[] };
  };
  // Without tini, which a container needs as process 1.
  const args = [...config.Entrypoint.slice(config.Entrypoint.indexOf('node') + 1), ...command];
  const env = Object.fromEntries(
    config.Env.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  return { command: process.execPath, args, env };
}

/** Environment that replaces what a container or its image provides: a separate host name, Chromium and the filter lists. */
const standIns = (name: string, tools: ToolPaths) => ({
  PATH: process.env['PATH'],
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  WEBCAPTURE_POD: name,
  WEBCAPTURE_HOST: '127.0.0.1',
  WEBCAPTURE_OPS_HOST: '127.0.0.1',
  WEBCAPTURE_HEADLESS_SHELL_PATH: tools.headlessShell,
  WEBCAPTURE_CHROMIUM_PATH: tools.chromium,
  WEBCAPTURE_FILTERS_PATH: tools.filters,
});

/** Runs a health check. Only the image of NATS has wget, so its address is fetched instead. */
async function isHealthy([, command, ...args]: readonly string[]): Promise<boolean> {
  if (command === 'wget') return (await fetch(args.at(-1) ?? '')).ok;
  if (command !== 'node') throw new Error(`the image has no ${command}`);
  return promisify(execFile)(process.execPath, args).then(
    () => true,
    () => false,
  );
}
