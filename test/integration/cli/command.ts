import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const main = fileURLToPath(new URL('../../../services/cli/main.ts', import.meta.url));

/** The command line from its sources, which starts four times as slowly as the bundle for users. */
export const fromSources = [process.execPath, main] as const;

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  readonly cwd?: string;
  /** Default: the sources. */
  readonly program?: readonly [command: string, ...args: string[]] | undefined;
}

export interface CommandResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Starts the command line as a user would, with only PATH from the environment of this process. */
export function startCommand(
  args: readonly string[],
  { env = {}, input = '', cwd, program = fromSources }: CommandOptions = {},
): { readonly child: ChildProcess; readonly result: Promise<CommandResult> } {
  const [command, ...first] = program;
  const child = spawn(command, [...first, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env },
    stdio: 'pipe',
  });
  const stdout: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const result = new Promise<CommandResult>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout: Buffer.concat(stdout), stderr }));
  });
  return { child, result };
}

export const runCommand = (args: readonly string[], options?: CommandOptions): Promise<CommandResult> =>
  startCommand(args, options).result;
