import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../tools/run-command.ts';

export interface SandboxChoice {
  readonly sandbox: 'on' | 'off';
  /** Why the sandbox is off; undefined if it is on. */
  readonly reason?: string;
}

/**
 * Checks whether Chromium's sandbox works on this machine by starting a browser with it. On Linux it needs user
 * namespaces, which distributions and containers disable in several ways.
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
