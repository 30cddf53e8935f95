import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { natsCertificates } from '../harness/nats-certificates.ts';
import { run } from './cluster.ts';
import { check, fullname, type Session } from './session.ts';
import { passwordsFor, satelliteOf, secretOf } from './two-clusters.ts';

// Runs the commands of docs/regions.md that create the passwords of NATS and copy the Secrets to hub and satellite.

const page = await readFile(new URL('../../docs/regions.md', import.meta.url), 'utf8');

/** The namespace that the page names `nats`. */
const natsNamespace = ({ cluster }: Session) => `${cluster.namespace}-nats`;

/** Returns the commands of the page that contain a text, with the names of the test. */
function commandsWith(text: string, session: Session): string {
  const blocks = Array.from(page.matchAll(/^ {3}```sh\n(.*?)^ {3}```$/gms), ([, block = '']) =>
    block.replaceAll(/^ {3}/gm, ''),
  );
  const found = blocks.filter((block) => block.includes(text));
  check(found.length === 1, `${found.length} blocks of docs/regions.md contain ${text}`);
  const namespaces = { nats: natsNamespace(session), webcapture: session.cluster.namespace };
  return (
    (found[0] ?? '')
      .replaceAll(/(-n|namespace|value) (nats|webcapture)(?= |$)/gm, (_, word: string, name: 'nats' | 'webcapture') => {
        return `${word} ${namespaces[name]}`;
      })
      // The Secret of the hub has the name of its release.
      .replace(`value ${namespaces.webcapture} webcapture-auth`, `value ${namespaces.webcapture} ${fullname}-auth`)
  );
}

/** The contexts `hub` and `asia` of the page are files of two clusters here. */
const contexts = `
  kubectl() {
    case "$1 $2" in
      '--context hub') shift 2; command kubectl "$@" ;;
      '--context asia') shift 2; command kubectl --kubeconfig "$WEBCAPTURE_SATELLITE_KUBECONFIG" "$@" ;;
      *) command kubectl "$@" ;;
    esac
  }
`;

async function runCommands(text: string, session: Session): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'documented-'));
  try {
    const script = `set -euo pipefail\ncd ${folder}\n${contexts}\n${commandsWith(text, session)}`;
    await run('bash', ['-c', script]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Creates the namespace and the Secrets of NATS, with additional users. */
export async function createNatsSecrets(session: Session, others: readonly string[]): Promise<void> {
  const { cluster } = session;
  const namespace = natsNamespace(session);
  await runCommands('kubectl create namespace nats', session);
  const more = JSON.stringify({ stringData: passwordsFor(others) });
  await cluster.kubectl(['-n', namespace, 'patch', 'secret', 'webcapture-nats', '--patch', more]);
  const tls = secretOf('nats-tls', { 'ca.crt': natsCertificates.ca });
  await cluster.apply({ ...tls, metadata: { ...tls.metadata, namespace } });
}

/** Returns the passwords of NATS by user. */
export async function natsPasswords(session: Session): Promise<Readonly<Record<string, string>>> {
  const args = ['-n', natsNamespace(session), 'get', 'secret', 'webcapture-nats', '-o', 'json'];
  const { data } = JSON.parse(await session.cluster.kubectl(args)) as { data: Record<string, string> };
  const entries = Object.entries(data).map(([key, value]) => {
    return [key.replace('-password', ''), Buffer.from(value, 'base64').toString()] as const;
  });
  return Object.fromEntries(entries);
}

/** Creates the namespace and the Secrets of the hub. */
export const copySecretsToHub = (session: Session) =>
  runCommands('kubectl create namespace webcapture\nvalue', session);

/** Creates the namespace and the Secrets of the satellite, with the passwords of additional users. */
export async function copySecretsToSatellite(session: Session, others: readonly string[]): Promise<void> {
  check(process.env['WEBCAPTURE_SATELLITE_KUBECONFIG'] !== undefined, 'the satellite has no kubeconfig');
  await runCommands('kubectl --context asia create namespace webcapture', session);
  const more = JSON.stringify({ stringData: passwordsFor(others) });
  await satelliteOf(session).kubectl(['patch', 'secret', 'webcapture-nats', '--patch', more]);
}

/** Deletes the namespace with the Secrets of NATS, which hub and satellite have copied. */
export const deleteNatsSecrets = (session: Session) =>
  session.cluster.kubectl(['delete', 'namespace', natsNamespace(session), '--wait=false']);
