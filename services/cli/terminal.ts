import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { CliError } from './errors.ts';

/** Streams of a command: those of the process, or of a test. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

/** Asks a question on the terminal; with `hidden`, the input is not echoed. */
export async function ask(terminal: Terminal, question: string, { hidden = false } = {}): Promise<string> {
  terminal.stderr.write(question);
  // readline echoes the input to its output.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({
    input: terminal.stdin,
    output: hidden ? silent : terminal.stderr,
    terminal: terminal.stdin.isTTY === true,
  });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve);
      lines.once('close', () => resolve(''));
      lines.once('SIGINT', () => {
        reject(new CliError('interrupted', 'Interrupted.'));
      });
    });
  } finally {
    lines.close();
    if (hidden) terminal.stderr.write('\n');
  }
}

/** Shows on a terminal what the command waits for and for how long. Clears the line at the end. */
export async function showWhile<T>({ stderr }: Terminal, what: string, act: () => Promise<T>): Promise<T> {
  if (stderr.isTTY !== true) return act();
  const start = Date.now();
  const timer = setInterval(() => {
    stderr.write(`\r\u001b[K${what}… ${Math.round((Date.now() - start) / 1000)} s`);
  }, 500);
  try {
    return await act();
  } finally {
    clearInterval(timer);
    stderr.write('\r\u001b[K');
  }
}

/** Reads all of stdin. */
export async function readAll(input: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks);
}
