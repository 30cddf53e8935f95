import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** A reviewed advisory in `audit-exceptions.json`. */
export interface AuditException {
  /** ID in `https://github.com/advisories/<id>`. */
  readonly id: string;
  readonly package: string;
  /** Why the advisory is harmless here, in one sentence. */
  readonly reason: string;
  /** Last day on which the review is valid, such as `2027-01-31`. After it, the advisory must be reviewed again. */
  readonly until: string;
}

/** An advisory of `npm audit` for one package. */
interface Advisory {
  readonly id: string;
  readonly package: string;
  readonly severity: string;
  readonly title: string;
  readonly range: string;
}

/** Result of the audit. `problems` are lines for the user; `skipped` is the reason why the audit has no result. */
export type Verdict = { readonly problems: readonly string[] } | { readonly skipped: string };

/**
 * Requests advisories for the packages in package-lock.json, including development packages. A reviewed advisory is not a problem until its
 * date. A review without an advisory is a problem, because it is dead code.
 *
 * @param options.root the folder of package-lock.json
 * @param options.today `2026-11-22`
 * @param options.signal ends the wait for the registry; npm limits only each request
 */
export async function audit(options: {
  readonly root: string;
  readonly exceptions: readonly AuditException[];
  readonly today: string;
  readonly signal: AbortSignal;
  readonly env?: NodeJS.ProcessEnv;
}): Promise<Verdict> {
  const { root, exceptions, today, signal, env = process.env } = options;
  // By default npm waits 10 s before a retry.
  const args = ['audit', '--json', '--package-lock-only', '--fetch-retries=1', '--fetch-retry-mintimeout=1000'];
  const npm = spawn('npm', args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], signal });
  const failed = new Promise<never>((_, reject) => npm.once('error', reject));
  let output: string;
  let complaints: string;
  try {
    [output, complaints] = await Promise.race([Promise.all([text(npm.stdout), text(npm.stderr)]), failed]);
  } catch (error) {
    if (!signal.aborted) throw error;
    return { skipped: 'the registry did not answer in time' };
  }
  const report = parseReport(output);
  if (report === null) return { problems: [`npm audit failed: ${complaints.trim() || output.trim()}`] };
  if ('skipped' in report) return report;
  return { problems: compare(report.advisories, exceptions, today) };
}

interface AuditReport {
  readonly message?: string;
  /** Contains a code if npm cannot audit, but not if the registry does not answer. */
  readonly error?: { readonly code?: string };
  readonly vulnerabilities?: Readonly<Record<string, { readonly via: readonly (string | Via)[] }>>;
}

interface Via {
  readonly name: string;
  readonly title: string;
  readonly url: string;
  readonly severity: string;
  readonly range: string;
}

/** Returns null if the output is not a report. */
export function parseReport(output: string): { advisories: readonly Advisory[] } | { skipped: string } | null {
  let report: AuditReport;
  try {
    report = JSON.parse(output) as AuditReport;
  } catch {
    return null;
  }
  if (report.vulnerabilities !== undefined) {
    const causes = Object.values(report.vulnerabilities).flatMap(({ via }) =>
      via.filter((it) => typeof it !== 'string'),
    );
    const advisories = causes.map(({ name, title, url, severity, range }) => {
      return { id: url.split('/').at(-1) ?? url, package: name, severity, title, range };
    });
    return { advisories: [...new Map(advisories.map((advisory) => [keyOf(advisory), advisory])).values()] };
  }
  if (report.error === undefined || report.error.code !== undefined) return null;
  return { skipped: skipReason(report.message ?? '') };
}

/** Statuses of registries that do not provide advisories. */
const withoutAdvisories = new Set(['404', '405', '501']);

/**
 * Returns npm's message without the address. It has the form `405 Method Not Allowed - POST https://…` or `request to https://… failed,
 * reason: … ECONNREFUSED …`.
 */
function skipReason(message: string): string {
  const status = /^(\d{3}) /.exec(message)?.[1];
  if (status !== undefined) {
    const isWithout = withoutAdvisories.has(status);
    return isWithout
      ? `the registry does not offer advisories (${status})`
      : `the registry answered with status ${status}`;
  }
  const code = /\bE[A-Z_]{4,}\b/.exec(message)?.[0];
  return `the registry cannot be reached${code === undefined ? '' : ` (${code})`}`;
}

/** Returns the problems, one line each; empty if there are no problems. */
export function compare(
  advisories: readonly Advisory[],
  exceptions: readonly AuditException[],
  today: string,
): readonly string[] {
  const known = new Map(exceptions.map((exception) => [keyOf(exception), exception]));
  const open = advisories.flatMap((advisory) => {
    const { id, package: name, severity, title, range } = advisory;
    const exception = known.get(keyOf(advisory));
    if (exception !== undefined && exception.until >= today) return [];
    const why = exception === undefined ? '' : ` It was an exception until ${exception.until}: "${exception.reason}".`;
    const todo = 'Update the package, or add the advisory to deploy/audit/audit-exceptions.json.';
    return [`${name} ${range}: ${severity}: ${title} (https://github.com/advisories/${id}).${why} ${todo}`];
  });
  const found = new Set(advisories.map(keyOf));
  const idle = exceptions
    .filter((exception) => !found.has(keyOf(exception)))
    .map(
      ({ id, package: name }) =>
        `${id} for ${name} is an exception, but not found: remove it from deploy/audit/audit-exceptions.json.`,
    );
  return [...open, ...idle];
}

const keyOf = ({ id, package: name }: { readonly id: string; readonly package: string }) => `${id} ${name}`;
