// Run before each installation and upgrade: refuses an upgrade that would lose the data of the embedded NATS, and then creates the
// secrets that are missing. What exists is never changed, so it may run any number of times.
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';

const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, ACCOUNT_DIR, NAMESPACE, PLAN } = process.env;
const { release, secrets, statefulSet } = JSON.parse(PLAN);

/** No retry can help: the Job fails at once. */
const refused = 3;

const say = (line) => void process.stdout.write(`${line}\n`);
const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
const token = readFileSync(`${ACCOUNT_DIR}/token`, 'utf8').trim();

/** Returns the object, or null where there is none (404) or another client created it first (409). */
async function call(method, path, body, type = 'application/json') {
  const response = await fetch(`${server}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': type } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
    signal: AbortSignal.timeout(20_000),
  });
  if (response.status === 404 || response.status === 409) return null;
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** Why an existing StatefulSet cannot become the wanted one, or null. Kubernetes never changes volumeClaimTemplates. */
function obstacle(found, { name, volume }) {
  const [claim] = found.spec.volumeClaimTemplates ?? [];
  const guide = 'See "Change the volume of the embedded NATS" in docs/backup.md. Nothing has been changed.';
  if (volume === null) {
    return claim === undefined
      ? null
      : `The StatefulSet ${name} keeps its data on a volume, but nats.persistence.enabled is false: its data would be left behind. ${guide}`;
  }
  if (claim === undefined) {
    return (
      `The StatefulSet ${name} keeps its data in an emptyDir volume, and this upgrade would move it to an empty persistent volume: ` +
      `accounts, keys and captures would be lost. Copy the data first, or keep the emptyDir volume with nats.persistence.enabled=false. ${guide}`
    );
  }
  const { resources, storageClassName = null } = claim.spec;
  const size = resources.requests.storage;
  if (size !== volume.size)
    return `The volume of the StatefulSet ${name} has ${size}, and nats.persistence.size is ${volume.size}. ${guide}`;
  if (volume.storageClassName !== null && volume.storageClassName !== storageClassName) {
    return `The volume of the StatefulSet ${name} has the StorageClass ${storageClassName ?? '(default)'}, and nats.persistence.storageClassName is ${volume.storageClassName}. ${guide}`;
  }
  return null;
}

/** Letters and digits, a letter first: nats-server reads passwords as words of its configuration. */
function password() {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  return `p${Array.from({ length: 31 }, () => alphabet[randomInt(alphabet.length)]).join('')}`;
}

const encode = (keys) => Object.fromEntries(keys.map((key) => [key, Buffer.from(password()).toString('base64')]));

/** Helm and Argo CD must not delete what no manifest contains, and a release whose manifest contains it may take it over. */
const annotations = {
  'helm.sh/resource-policy': 'keep',
  'meta.helm.sh/release-name': release.name,
  'meta.helm.sh/release-namespace': release.namespace,
  'argocd.argoproj.io/sync-options': 'Prune=false',
  'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
};

async function ensureSecret({ name, labels, keys }) {
  const path = `/api/v1/namespaces/${NAMESPACE}/secrets`;
  const found = await call('GET', `${path}/${name}`);
  if (found === null) {
    const secret = { metadata: { name, labels, annotations }, type: 'Opaque', data: encode(keys) };
    if ((await call('POST', path, secret)) === null) throw new Error(`the Secret ${name} was created at the same time`);
    say(`created the Secret ${name}`);
    return;
  }
  const missing = keys.filter((key) => !found.data?.[key]);
  const isKept = Object.entries(annotations).every(([key, value]) => found.metadata.annotations?.[key] === value);
  if (missing.length === 0 && isKept) return say(`the Secret ${name} is complete`);
  const { resourceVersion } = found.metadata;
  const patch = { metadata: { annotations, resourceVersion }, data: encode(missing) };
  const patched = await call('PATCH', `${path}/${name}`, patch, 'application/merge-patch+json');
  if (patched === null) throw new Error(`the Secret ${name} was changed at the same time`);
  say(`kept the Secret ${name}${missing.length === 0 ? '' : `, and added ${missing.join(', ')}`}`);
}

if (statefulSet !== null) {
  const found = await call('GET', `/apis/apps/v1/namespaces/${NAMESPACE}/statefulsets/${statefulSet.name}`);
  const problem = found === null ? null : obstacle(found, statefulSet);
  if (problem !== null) {
    process.stderr.write(`${problem}\n`);
    process.exit(refused);
  }
}
for (const secret of secrets) await ensureSecret(secret);
