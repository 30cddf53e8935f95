// Part of `npm run check`: known vulnerabilities of the packages, but for those that were judged.
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { audit, type JudgedAdvisory } from './audit.ts';

const judged = JSON.parse(await readFile(new URL('judged.json', import.meta.url), 'utf8')) as readonly JudgedAdvisory[];
const root = fileURLToPath(new URL('../..', import.meta.url));
const verdict = await audit({ root, judged, today: new Date().toISOString().slice(0, 10) });
if ('skipped' in verdict) {
  process.stdout.write(`SKIPPED: the registry gave no advisories, so NO PACKAGE WAS AUDITED: ${verdict.skipped}\n`);
} else {
  for (const problem of verdict.problems) process.stdout.write(`${problem}\n`);
  process.exitCode = verdict.problems.length === 0 ? 0 : 1;
}
