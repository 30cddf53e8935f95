import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { once } from '../../../harness/once.ts';

/** Time limit of a page. Its commands only write files, so a page that takes longer waits for something. */
const deadlineMs = 240_000;
const repository = fileURLToPath(new URL('../../../../', import.meta.url));

/** A call of a program that a page makes. */
export interface Call {
  /** The line of the page. */
  readonly line: number;
  readonly program: string;
  readonly args: readonly string[];
  /** The variable REGISTRY of the call, which `docker buildx bake` reads. */
  readonly registry: string;
}

interface Run {
  readonly calls: readonly Call[];
  /** The working directory, with the files that the commands wrote. */
  readonly folder: string;
}

/** Returns the page with an empty line for each line outside of shell blocks, so that Bash reports the line numbers of the page. */
function shellOf(page: string): string {
  let inShell = false;
  const lines = page.split('\n').map((line) => {
    const fence = /^ *```(\w*)/.exec(line);
    if (fence === null) return inShell ? line : '';
    inShell = fence[1] === 'sh';
    return '';
  });
  return lines.join('\n');
}

/** Programs that run unchanged. No other program than these and the stand-ins is on the path. */
const realPrograms = ['base64', 'cat', 'sed'];

/**
 * Functions in place of the programs. Each writes its arguments to the file of calls, and prints what the real program prints if the page
 * reads that. Functions need no process each.
 */
const standIns = String.raw`
record() {
  printf '%s\0' "\${BASH_LINENO[1]}" "\${REGISTRY-}" "$@" $'\x01' >> "$CALLS"
  case "$*" in
    'gcloud projects describe '*) echo 123456789012 ;;
    'gcloud compute addresses describe capture '*) echo 198.51.100.7 ;;
    'gcloud compute addresses describe '*) echo 198.51.100.8 ;;
    'gcloud certificate-manager dns-authorizations describe '*name\)*) echo "_acme-challenge.$5" ;;
    'gcloud certificate-manager dns-authorizations describe '*) echo "$5.authorize.certificatemanager.goog." ;;
    'gcloud certificate-manager certificates describe '*) echo ACTIVE ;;
    'gcloud dns managed-zones describe '*) echo ns-cloud-a1.googledomains.com. ;;
    'kubectl -n default get endpointslices '*) echo 10.0.0.2 ;;
    'kubectl '*' get secret '*) echo c2VjcmV0LW9mLXRoZS1wYWdl ;;
    'openssl rand '*) echo 0123456789abcdef0123456789abcdef ;;
    'jq '*) echo printed-by-jq ;;
    'npm run --silent nats-users -- us-east') cat "$NATS_USERS" ;;
  esac
}
for program in curl docker gcloud helm jq kubectl npm openssl sleep; do
  eval "$program() { record $program \"\$@\"; }"
done
unset program
`.replaceAll(String.raw`\${`, '${');

/** The accounts and users of NATS that the page generates. */
const natsUsers = once(async () => {
  const file = join(await mkdtemp(join(inject('tempFolder'), 'nats-users-')), 'nats-users.yaml');
  const script = join(repository, 'deploy/chart/nats-users.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script, 'us-east'], { timeout: deadlineMs });
  await writeFile(file, stdout);
  return file;
});

/**
 * Runs the shell blocks of a page in Bash, in order and in one shell, with stand-ins for the programs that reach a cloud or a
 * cluster. Rejects if Bash cannot parse a block, if a command uses a variable that no earlier command sets, or if one fails.
 *
 * @param variables Values for variables that the page exports, in place of those on the page.
 */
export async function runPage(page: string, variables: Readonly<Record<string, string>>): Promise<Run> {
  const folder = await mkdtemp(join(inject('tempFolder'), 'page-'));
  const bin = join(folder, '.bin');
  const calls = join(folder, '.calls');
  await mkdir(bin);
  await Promise.all([
    writeFile(join(folder, '.stand-ins.sh'), standIns),
    writeFile(calls, ''),
    ...realPrograms.map((name) => symlink(`/usr/bin/${name}`, join(bin, name))),
    ...['charts', 'deploy'].map((name) => symlink(join(repository, name), join(folder, name))),
  ]);
  const shell = shellOf(page).replaceAll(
    /^export (\w+)=(\S+)/gm,
    (all, name: string) => `export ${name}=${variables[name] ?? all.slice(all.indexOf('=') + 1)}`,
  );
  await writeFile(join(folder, '.page.sh'), `set -euo pipefail; source ./.stand-ins.sh;${shell}`);
  const env = { PATH: bin, CALLS: calls, NATS_USERS: await natsUsers() };
  await promisify(execFile)('/bin/bash', ['.page.sh'], { cwd: folder, env, timeout: deadlineMs });
  const recorded = (await readFile(calls, 'utf8')).split('\0\u0001\0').slice(0, -1);
  return {
    folder,
    calls: recorded.map((record) => {
      const [line = '', registry = '', program = '', ...args] = record.split('\0');
      return { line: Number(line), registry, program, args };
    }),
  };
}
