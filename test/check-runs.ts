import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

/** One of the checks of `npm run check`. */
export interface Check {
  readonly name: string;
  /** A program and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** Environment variables that are set unless the caller's environment sets them. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Returns whether the result depends on a file of the repository. A check with this function runs again only if one of these files has
   * changed since it last passed. A check without it runs each time.
   */
  readonly dependsOn?: (path: string) => boolean;
}

export interface CheckResult {
  readonly name: string;
  readonly outcome: 'passed' | 'unchanged' | 'skipped' | 'failed';
  readonly seconds: number;
  /** The output of a check that failed, or the reason why a check was skipped. */
  readonly text: string;
}

/** The SHA-256 of each file that is committed or could be committed, by its path; undefined without Git. */
type Snapshot = ReadonlyMap<string, string> | undefined;

const run = promisify(execFile);

const maxBuffer = 64 * 1024 * 1024;

/** A check that was skipped writes a line with this prefix and the reason, and exits with 0. */
const skipMark = 'SKIPPED: ';

/**
 * Runs all checks concurrently and calls `report` at the end of each. Records the inputs with which a check passed, in a file for each
 * check in `recordFolder`.
 */
export async function runChecks(
  checks: readonly Check[],
  options: {
    readonly root: string;
    readonly recordFolder: string;
    readonly report: (result: CheckResult) => void;
  },
): Promise<readonly CheckResult[]> {
  const { root, recordFolder, report } = options;
  const recordOf = ({ name }: Check) => join(recordFolder, `${name.replaceAll(' ', '-')}.sha256`);
  const before = await takeSnapshot(root);
  const results = await Promise.all(
    checks.map(async (check) => {
      const begin = performance.now();
      const digest = inputDigest(check, before);
      const passedWith = await readFile(recordOf(check), 'utf8').catch(() => undefined);
      const isUnchanged = digest !== undefined && digest === passedWith;
      const { outcome, text } = isUnchanged
        ? ({ outcome: 'unchanged', text: '' } as const)
        : await runCheck(check, root);
      const result = { name: check.name, outcome, text, seconds: (performance.now() - begin) / 1000 };
      report(result);
      return result;
    }),
  );
  // A file that was edited meanwhile may have been checked before or after the edit.
  const after = await takeSnapshot(root);
  await mkdir(recordFolder, { recursive: true });
  await Promise.all(
    checks.map(async (check, index) => {
      const digest = inputDigest(check, before);
      if (results[index]?.outcome !== 'passed' || digest === undefined || digest !== inputDigest(check, after)) return;
      await writeFile(recordOf(check), digest);
    }),
  );
  return results;
}

/** The last line of `npm run check`. */
export function summaryOf(results: readonly CheckResult[]): string {
  const named = (outcome: CheckResult['outcome']) => results.filter((result) => result.outcome === outcome);
  const passed = [...named('passed'), ...named('unchanged')].length;
  const failed = named('failed');
  return [
    `${passed} checks passed`,
    ...(failed.length === 0 ? [] : [`${failed.length} failed (${failed.map(({ name }) => name).join(', ')})`]),
    ...named('skipped').map(({ name, text }) => `${name} skipped: ${text}`),
  ].join(', ');
}

/**
 * Returns the digest of everything that determines the result of a check: its command, Node.js, the installed packages (which include the
 * tool of the check), and the files. Undefined if the check has no `dependsOn`, or without a snapshot.
 */
function inputDigest({ command, dependsOn }: Check, snapshot: Snapshot): string | undefined {
  if (dependsOn === undefined || snapshot === undefined) return undefined;
  const hash = createHash('sha256').update(JSON.stringify([command, process.version]));
  for (const [path, content] of [...snapshot].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (path === installedPackages || dependsOn(path)) hash.update(`${path}\0${content}\0`);
  }
  return hash.digest('hex');
}

/** A file that npm writes at each installation. */
const installedPackages = 'node_modules/.package-lock.json';

/** The content of each file is read, because modification times do not tell whether it has changed. */
async function takeSnapshot(root: string): Promise<Snapshot> {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-per-directory=.gitignore'];
  const listed = await run('git', args, { cwd: root, maxBuffer }).catch(() => undefined);
  if (listed === undefined) return undefined;
  const paths = [...new Set(listed.stdout.split('\0').filter(Boolean)), installedPackages];
  return new Map(await Promise.all(paths.map(async (path) => [path, await contentHash(join(root, path))] as const)));
}

async function contentHash(path: string): Promise<string> {
  try {
    return createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
  } catch (error) {
    // Git still lists the file although it is deleted, or it is a link to a folder.
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

async function runCheck({ command, env }: Check, root: string): Promise<Pick<CheckResult, 'outcome' | 'text'>> {
  const [program, ...args] = command;
  try {
    const { stdout } = await run(program, args, { cwd: root, maxBuffer, env: { ...env, ...process.env } });
    const reason = stdout.startsWith(skipMark) ? stdout.slice(skipMark.length).trim() : undefined;
    return reason === undefined ? { outcome: 'passed', text: '' } : { outcome: 'skipped', text: reason };
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as { stdout?: string; stderr?: string; message: string };
    const output = `${stdout}${stderr}`;
    return { outcome: 'failed', text: output.trim() === '' ? message : output };
  }
}
