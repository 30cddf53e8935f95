import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';

/** `npm run check`: types, lint with import borders, format, dead code, circles of imports, known vulnerabilities, all at once. */
const checks = {
  types: ['tsc', '--project', '.'],
  'types of the dashboard': ['tsc', '--project', 'services/dashboard'],
  lint: ['oxlint', '--quiet'],
  format: ['prettier', '--check', '--log-level', 'warn', '.'],
  'dead code': ['knip', '--no-progress'],
  'import circles': ['node', 'test/import-circles.ts'],
  audit: ['node', 'deploy/audit/main.ts'],
} as const;

const run = promisify(execFile);

const results = await Promise.all(
  Object.entries(checks).map(async ([name, [tool, ...args]]) => {
    const start = performance.now();
    const output = await run(`node_modules/.bin/${tool}`, args, { maxBuffer: 64 * 1024 * 1024 }).then(
      ({ stdout }) => ({ passed: true, text: stdout.startsWith('SKIPPED') ? stdout : '' }),
      (error: unknown) => ({ passed: false, text: describe(error) }),
    );
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    const sign = output.passed ? (output.text === '' ? '✓' : '!') : '✗';
    process.stdout.write(`${sign} ${name} (${seconds} s)\n${output.text}`);
    return output.passed;
  }),
);
process.exitCode = results.every(Boolean) ? 0 : 1;

function describe(error: unknown): string {
  const { stdout = '', stderr = '', message = '' } = error as { stdout?: string; stderr?: string; message?: string };
  return `${stdout}${stderr}`.trim() === '' ? `${message}\n` : `${stdout}${stderr}\n`;
}
