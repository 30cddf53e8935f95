// Part of `npm run check`: reports known vulnerabilities of the packages that have not been reviewed.
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { audit, type AuditException } from './audit.ts';

/** Environment variable: with `true`, as in the release workflow, a skipped audit is a failure. */
const requireVariable = 'REQUIRE_AUDIT';
const required = process.env[requireVariable] || 'false';

/** Time limit of the audit. `npm run check` must end within 15 s, but a release can wait longer for a registry. */
const deadlineMs = required === 'true' ? 60_000 : 12_000;

const exceptions = JSON.parse(
  await readFile(new URL('audit-exceptions.json', import.meta.url), 'utf8'),
) as readonly AuditException[];
const root = fileURLToPath(new URL('../..', import.meta.url));

const problems = await findProblems();
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

async function findProblems(): Promise<readonly string[]> {
  if (required !== 'true' && required !== 'false') {
    return [`${requireVariable} must be true or false, not "${required}"`];
  }
  const today = new Date().toISOString().slice(0, 10);
  const verdict = await audit({ root, exceptions, today, signal: AbortSignal.timeout(deadlineMs) });
  if ('problems' in verdict) return verdict.problems;
  if (required === 'true') {
    return [`No package was audited: ${verdict.skipped}. ${requireVariable} requires an audit.`];
  }
  process.stdout.write(`SKIPPED: ${verdict.skipped}\n`);
  return [];
}
