import { chmod, mkdir, readdir, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { commandOf } from './command-of.ts';
import { startProcess, type GuardedProcess } from './process.ts';
import { waitFor } from './wait-for.ts';

export interface NatsOptions {
  /** The data folder of the server: its streams, its configuration, its pid. Two servers must not use the same folder. */
  readonly dataDir: string;
  /** The nats-server binary. */
  readonly toolPath: string;
  /** Port of the server. By default, the server picks a free port. */
  readonly port?: number;
  /** Name of the server, by default `webcapture`. In a cluster each server needs a distinct name and must keep it. */
  readonly serverName?: string;
  /** Additional lines of its configuration, for example its accounts or its cluster. */
  readonly config?: string;
  /** Receives every line that the server prints. */
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
}

export interface NatsServer {
  readonly url: string;
  readonly port: number;
  readonly process: GuardedProcess;
}

/** A server with a large store reads it before it is ready. */
const readyDeadlineMs = 60_000;

/**
 * Starts a nats-server with JetStream on loopback and waits until it is ready. Streams are stored in `dataDir`, and a server that
 * starts there later uses them, even after a crash. Throws with the server's last line if it does not start.
 */
export async function startNats(options: NatsOptions): Promise<NatsServer> {
  const { dataDir, log, signal } = options;
  const configPath = join(dataDir, 'nats-server.conf');
  const pidPath = join(dataDir, 'nats-server.pid');
  await mkdir(dataDir, { recursive: true });
  // An existing folder keeps its mode, and the streams contain the secrets of webhooks.
  await chmod(dataDir, 0o700);
  await formerServerGone(pidPath, configPath, signal);
  await removePortsFiles(dataDir);
  // The file is created again, because an existing file keeps its mode. It contains passwords of users.
  await rm(configPath, { force: true });
  await writeFile(configPath, `${await natsConfig(options, pidPath)}${options.config ?? ''}`, { mode: 0o600 });

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
 * Returns the maximum number of bytes of all streams. The server's default is three quarters of the free space at its start. The default
 * can be smaller than the existing streams. If the disk is full, it is 0, and the server refuses every write until it is restarted.
 */
async function maxFileStore(dataDir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dataDir);
  return (await bytesIn(join(dataDir, 'jetstream'))) + Math.max(gibibyte, Math.floor(0.75 * bavail * bsize));
}

/** Returns the bytes of all files below a folder; 0 if it does not exist. */
async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map((file) => stat(join(file.parentPath, file.name)).then(({ size }) => size)));
  return sizes.reduce((total, size) => total + size, 0);
}

/** Waits until the guard of a crashed start has ended its server, because two servers on one folder would corrupt its streams. */
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

/** A killed server leaves its file, and a later server may get its pid. */
async function removePortsFiles(dataDir: string): Promise<void> {
  const names = await readdir(dataDir);
  await Promise.all(names.filter((name) => name.endsWith('.ports')).map((name) => rm(join(dataDir, name))));
}

/** Returns undefined while the file does not exist or is incomplete. */
function portIn(portsFile: string): number | undefined {
  const url = /"(?:nats|tls):\/\/[^"]*:(\d+)"/.exec(portsFile)?.[1];
  return url === undefined ? undefined : Number(url);
}
