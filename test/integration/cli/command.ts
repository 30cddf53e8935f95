import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const main = fileURLToPath(new URL('../../../services/cli/main.ts', import.meta.url));

/** The command line as it runs in this repository; it starts four times as slowly as the bundle that users get. */
export const fromSources = [process.execPath, main] as const;

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  readonly cwd?: string;
  /** By default the sources. */
  readonly program?: readonly [command: string, ...args: string[]] | undefined;
}

export interface CommandResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Starts the command line as a user would, with nothing of this process's environment but PATH. */
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
