import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../tools/run-command.ts';

export interface SandboxChoice {
  readonly sandbox: 'on' | 'off';
  /** Why it is off; undefined when it is on. */
  readonly reason?: string;
}

/**
 * Whether Chromium's own sandbox works on this machine: on Linux it needs user namespaces, which distributions and
 * containers switch off in several ways, so a browser is started with it to see.
 */
export async function chooseSandbox(browserPath: string, signal: AbortSignal): Promise<SandboxChoice> {
  if (process.getuid?.() === 0) return { sandbox: 'off', reason: 'it does not work for root' };
  if (process.platform !== 'linux') return { sandbox: 'on' };
  const profile = await mkdtemp(join(tmpdir(), 'webcapture-sandbox-'));
  const args = [
    '--headless',
    '--disable-gpu',
    '--no-first-run',
    `--user-data-dir=${profile}`,
    '--dump-dom',
    'about:blank',
  ];
  try {
    await runCommand(browserPath, args, { timeoutMs: 20_000, graceMs: 0, signal });
    return { sandbox: 'on' };
  } catch {
    signal.throwIfAborted();
    return { sandbox: 'off', reason: 'a browser did not start with it: user namespaces seem to be switched off here' };
  } finally {
    await rm(profile, { recursive: true, force: true });
  }
}
