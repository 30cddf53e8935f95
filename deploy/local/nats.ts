import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { commandOf } from './command-of.ts';
import type { NatsLogin } from './nats-users.ts';
import { startProcess, type GuardedProcess } from './process.ts';
import { waitFor } from './wait-for.ts';

export interface NatsOptions {
  /** The server's own folder: its streams, its configuration, its pid. One server at a time. */
  readonly dataDir: string;
  /** The nats-server binary. */
  readonly toolPath: string;
  /** By default a free one that the server picks. */
  readonly port?: number;
  /** How the server calls itself, by default `webcapture`. In a cluster each has a name of its own, and keeps it. */
  readonly serverName?: string;
  /** Further lines of its configuration, e.g. its accounts or its cluster. */
  readonly config?: string;
  /** The user of commands such as `npm run reconcile`; `runningNats` tells it to who may read the folder. */
  readonly operator?: NatsLogin;
  /** Gets every line that the server prints. */
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
}

export interface NatsServer {
  readonly url: string;
  readonly port: number;
  readonly process: GuardedProcess;
}

/** A server with a large store reads it first. */
const readyDeadlineMs = 60_000;

/**
 * Starts a nats-server with JetStream on loopback and waits until it serves. Streams are kept in `dataDir`: a server
 * that is started there again, after whatever end, finds them. Throws with the server's last line when it does not
 * come up.
 */
export async function startNats(options: NatsOptions): Promise<NatsServer> {
  const { dataDir, log, signal } = options;
  const configPath = join(dataDir, 'nats-server.conf');
  const pidPath = join(dataDir, 'nats-server.pid');
  // The streams hold the secrets of webhooks.
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await formerServerGone(pidPath, configPath, signal);
  await removePortsFiles(dataDir);
  // Made anew, since a file that is there keeps its mode. They hold passwords of users.
  await Promise.all([configPath, operatorPath(dataDir)].map((path) => rm(path, { force: true })));
  await writeFile(configPath, `${await natsConfig(options, pidPath)}${options.config ?? ''}`, { mode: 0o600 });
  if (options.operator !== undefined) {
    await writeFile(operatorPath(dataDir), JSON.stringify(options.operator), { mode: 0o600 });
  }

  let lastLine = 'it said nothing';
  const server = await startProcess({
    name: 'nats-server',
    command: options.toolPath,
    args: ['-c', configPath],
    onLine: (line) => {
      lastLine = line;
      log?.(line);
    },
  });
  try {
    const portsFile = join(dataDir, `${basename(options.toolPath)}_${server.pid}.ports`);
    const port = await listeningPort(portsFile, server, signal);
    return { url: `nats://127.0.0.1:${port}`, port, process: server };
  } catch (error) {
    await server.stop({ graceMs: 0 });
    signal?.throwIfAborted();
    throw new Error(`nats-server did not start; its last line: ${lastLine}`, { cause: error });
  }
}

/** The server that runs on a data folder right now, and what its operator signs in with; undefined when none does. */
export async function runningNats(
  dataDir: string,
): Promise<{ readonly url: string; readonly operator: NatsLogin | undefined } | undefined> {
  const pid = Number(await readFile(join(dataDir, 'nats-server.pid'), 'utf8').catch(() => ''));
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  if (!(await commandOf(pid)).includes(join(dataDir, 'nats-server.conf'))) return undefined;
  const file = (await readdir(dataDir)).find((name) => name.endsWith(`_${pid}.ports`));
  const port = file === undefined ? undefined : portIn(await readFile(join(dataDir, file), 'utf8').catch(() => ''));
  if (port === undefined) return undefined;
  const operator = await readFile(operatorPath(dataDir), 'utf8').catch(() => undefined);
  return {
    url: `nats://127.0.0.1:${port}`,
    operator: operator === undefined ? undefined : (JSON.parse(operator) as NatsLogin),
  };
}

const operatorPath = (dataDir: string) => join(dataDir, 'operator.json');

async function natsConfig(
  { dataDir, port = -1, serverName = 'webcapture' }: NatsOptions,
  pidPath: string,
): Promise<string> {
  const text = JSON.stringify;
  return `# Written at each start; changes here are lost.
host: "127.0.0.1"
port: ${port}
server_name: ${text(serverName)}
# Where the server writes which port it listens on.
ports_file_dir: ${text(dataDir)}
pid_file: ${text(pidPath)}
# The most that the server allows without a warning. Most files then ride along with the answer.
max_payload: 8MB
jetstream {
  store_dir: ${text(dataDir)}
  max_file_store: ${await maxFileStore(dataDir)}
  # The default of two minutes is what a power cut may cost.
  sync_interval: "1s"
}
`;
}

const gibibyte = 1024 ** 3;

/**
 * Maximum bytes of all streams. The server's default is three quarters of what is free when it starts. That can be less than what
 * the streams hold, and is nothing while the disk is full: then the server refuses every write until it is restarted.
 */
async function maxFileStore(dataDir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dataDir);
  return (await bytesIn(join(dataDir, 'jetstream'))) + Math.max(gibibyte, Math.floor(0.75 * bavail * bsize));
}

/** Bytes of all files below a folder; 0 when there is none. */
async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map((file) => stat(join(file.parentPath, file.name)).then(({ size }) => size)));
  return sizes.reduce((total, size) => total + size, 0);
}

/**
 * Two servers on one folder would spoil its streams. The one of a start that crashed is being ended by its guard, so
 * it is waited for.
 */
async function formerServerGone(pidPath: string, configPath: string, signal: AbortSignal | undefined): Promise<void> {
  const pid = Number(await readFile(pidPath, 'utf8').catch(() => ''));
  if (!Number.isInteger(pid) || pid <= 0) return;
  const gone = async () => ((await commandOf(pid)).includes(configPath) ? undefined : true);
  await waitFor(`another nats-server (pid ${pid}) to leave ${configPath}`, gone, {
    deadlineMs: 10_000,
    ...(signal ? { signal } : {}),
  });
}

/** Reads the file that the server writes when it accepts connections. */
async function listeningPort(
  portsFile: string,
  server: GuardedProcess,
  signal: AbortSignal | undefined,
): Promise<number> {
  let ended = false;
  void server.exited.then(() => (ended = true));
  const read = async () => {
    if (ended) throw new Error('nats-server ended at its start');
    return portIn(await readFile(portsFile, 'utf8').catch(() => ''));
  };
  return waitFor('nats-server to listen', read, {
    deadlineMs: readyDeadlineMs,
    intervalMs: 20,
    ...(signal ? { signal } : {}),
  });
}

/** A server that was killed left its file, and a later one may get its pid. */
async function removePortsFiles(dataDir: string): Promise<void> {
  const names = await readdir(dataDir);
  await Promise.all(names.filter((name) => name.endsWith('.ports')).map((name) => rm(join(dataDir, name))));
}

/** Undefined while the file is not there, or not whole yet. */
function portIn(portsFile: string): number | undefined {
  const url = /"(?:nats|tls):\/\/[^"]*:(\d+)"/.exec(portsFile)?.[1];
  return url === undefined ? undefined : Number(url);
}
