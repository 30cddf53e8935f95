import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { startProcess } from '../../deploy/local/process.ts';

const attackProcess = fileURLToPath(new URL('attack-process.ts', import.meta.url));

interface Attack extends AsyncDisposable {
  /** Number of responses by status so far; `broken` counts reset connections. */
  answers(): Readonly<Record<string, number>>;
}

/** Clients without an API key that attack a front, in a separate process, until they are disposed of. */
export async function startAttack(url: string, connections: number): Promise<Attack> {
  let answers: Record<string, number> = {};
  const attack = await startProcess({
    name: 'attack',
    command: process.execPath,
    args: [attackProcess, url, String(connections)],
    onLine: (line) => {
      if (line.startsWith('{')) answers = JSON.parse(line) as Record<string, number>;
    },
  });
  return {
    answers: () => answers,
    [Symbol.asyncDispose]: async () => void (await attack.stop({ graceMs: 0 })),
  };
}

/** Current and peak memory of a process in bytes. */
export async function memoryOf(pid: number): Promise<{ readonly now: number; readonly most: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  return { now: 1024 * kilobytes('VmRSS'), most: 1024 * kilobytes('VmHWM') };
}
