import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { natsCertificates } from '../harness/nats-certificates.ts';
import { Cluster, type PodFacts } from './cluster.ts';
import { images } from './images.ts';
import { release, type Session, until } from './session.ts';
import { startPod } from './start-pod.ts';

/** The satellite is a separate release in the cluster of WEBCAPTURE_SATELLITE_KUBECONFIG. */
export const near = 'us-east';
export const far = 'asia-southeast';
/** A region that NATS has users for, but the hub does not have. */
export const unknown = 'eu-west';
/** The new name of a renamed region of the satellite. */
export const renamed = 'us-west';
export const region = `engine.${far}`;

export const usersOf = (...regions: readonly string[]) =>
  regions.flatMap((name) => [`renderer-${name}`, `satellite-${name}`]);

const password = (user: string) => `p${Buffer.from(user).toString('hex')}`;
export const secretOf = (name: string, data: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData: data,
});
/** Passwords of users that the documentation does not mention, as keys of a Secret. */
export const passwordsFor = (users: readonly string[]) =>
  Object.fromEntries(users.map((user) => [`${user}-password`, password(user)]));

/** The same commands for the cluster of the satellite. */
class Satellite extends Cluster {
  readonly #kubeconfig = process.env['WEBCAPTURE_SATELLITE_KUBECONFIG'] ?? '';

  override kubectl(args: readonly string[], options = {}): Promise<string> {
    return super.kubectl(['--kubeconfig', this.#kubeconfig, ...args], options);
  }

  override helm(args: readonly string[], options = {}): Promise<string> {
    return super.helm(['--kubeconfig', this.#kubeconfig, ...args], options);
  }
}

export const satelliteOf = ({ cluster }: Session) => new Satellite(cluster.namespace, cluster.helmPath);
export const inSatellite = (session: Session): Session => ({ ...session, cluster: satelliteOf(session) });

/** Starts a nats-server with TLS and the accounts of the documented command. `passwords`: by user. */
export async function startNats({ cluster }: Session, passwords: Readonly<Record<string, string>>): Promise<void> {
  const command = fileURLToPath(new URL('../../deploy/chart/nats-users.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    command,
    near,
    '--satellite',
    far,
    '--satellite',
    unknown,
    '--satellite',
    renamed,
  ]);
  const values = JSON.parse(stdout.slice(stdout.indexOf('{'))) as { config: { merge: object } };
  const accounts = JSON.stringify(values.config.merge, null, 1).replaceAll(
    /"<< \$(\w+)_PASSWORD >>"/g,
    (_, name: string) => JSON.stringify(passwords[name.toLowerCase().replaceAll('_', '-')]),
  );
  const config = [
    'listen: "0.0.0.0:4222"',
    'max_payload: 8MB',
    'jetstream { store_dir: "/data", sync_interval: "1s" }',
    'tls { cert_file: "/tls/tls.crt", key_file: "/tls/tls.key" }',
    accounts.slice(1, -1),
  ].join('\n');
  const { serverCert, serverKey } = natsCertificates;
  const files = { 'nats.conf': config, 'tls.crt': serverCert, 'tls.key': serverKey };
  await cluster.apply(secretOf('nats', files));
  const labels = { app: 'nats' };
  await cluster.apply({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'nats' },
    spec: {
      replicas: 1,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 5,
          shareProcessNamespace: true,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 10001,
            fsGroup: 10001,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: 'nats',
              image: images.nats,
              args: ['--config', '/tls/nats.conf'],
              ports: [{ containerPort: 4222 }],
              readinessProbe: { tcpSocket: { port: 4222 }, periodSeconds: 1 },
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
              volumeMounts: [
                { name: 'files', mountPath: '/tls' },
                { name: 'data', mountPath: '/data' },
              ],
            },
            // The image of nats-server contains no program that could kill it.
            {
              name: 'tools',
              image: images.front,
              command: ['sleep', 'infinity'],
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
            },
          ],
          volumes: [
            { name: 'files', secret: { secretName: 'nats' } },
            // The data survives a restart of the container, like a volume.
            { name: 'data', emptyDir: {} },
          ],
        },
      },
    },
  });
  await cluster.apply(serviceOf('nats', { ports: [{ port: 4222 }] }));
}

const serviceOf = (name: string, spec: object) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: name }, ...spec },
});

/** Starts a pod through which the satellite reaches NATS. Stopping its process cuts the link in both directions without closing connections. */
export async function startLink({ cluster }: Session): Promise<void> {
  const code =
    'const net=require("net");net.createServer((a)=>{const b=net.connect(4222,"nats");a.pipe(b);b.pipe(a);' +
    'for(const s of[a,b])s.on("error",()=>{a.destroy();b.destroy()})}).listen(4222)';
  await startPod(cluster, {
    name: 'link',
    labels: { app: 'link' },
    container: { image: images.front, command: ['sh', '-c', `node -e '${code}' & echo $! > /tmp/pid; wait`] },
  });
  await cluster.apply(serviceOf('link', { type: 'NodePort', ports: [{ port: 4222 }] }));
}

export const signalLink = ({ cluster }: Session, signal: 'STOP' | 'CONT') =>
  cluster.exec('link', ['sh', '-c', `kill -${signal} "$(cat /tmp/pid)"`]);

/** Returns the address at which the satellite reaches the hub's NATS: a port of the hub's node. */
export async function linkUrl({ cluster }: Session): Promise<string> {
  const { items } = await cluster.get<{
    items: { status: { addresses: { type: string; address: string }[] } }[];
  }>(['nodes']);
  const { spec } = await cluster.get<{ spec: { ports: { nodePort: number }[] } }>(['service', 'link']);
  const host = items[0]?.status.addresses.find(({ type }) => type === 'InternalIP')?.address;
  return `tls://${host}:${spec.ports[0]?.nodePort}`;
}

/** Values that the hub and the satellite have in common. */
export const joining = (url: string) => ({
  nats: {
    enabled: false,
    url,
    existingSecret: 'webcapture-nats',
    tls: { caSecret: 'webcapture-nats-ca', serverName: 'nats.test' },
  },
  networkPolicy: { natsPort: Number(new URL(url).port) },
  renderRegions: 'always',
});

export const ofSatellite = (url: string) => ({
  ...joining(url),
  role: 'satellite',
  auth: { existingSecret: 'webcapture-auth' },
});

/** Runs `helm upgrade --install` with a file of values, since they are nested. */
export async function install(
  cluster: Cluster,
  { chart, imageArgs }: Pick<Session, 'chart' | 'imageArgs'>,
  values: object,
  wait = true,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'regions-'));
  try {
    const file = join(folder, 'values.json');
    await writeFile(file, JSON.stringify(values));
    const waiting = wait ? ['--wait', '--timeout', '8m'] : [];
    await cluster.helm(['upgrade', '--install', release, chart, ...imageArgs, '--values', file, ...waiting]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Returns reason and message of the condition Ready of a RenderRegion in the satellite. */
async function readyOf(session: Session, name: string): Promise<{ readonly reason: string; readonly message: string }> {
  interface Resource {
    readonly status?: { readonly conditions?: readonly { type: string; reason: string; message: string }[] };
  }
  const { status } = await satelliteOf(session).get<Resource>(['renderregion', name]);
  const { reason = 'none', message = '' } = status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
  return { reason, message };
}

export const untilReason = (session: Session, reason: string, deadlineMs = 60_000, name: string = far) =>
  until(
    `the RenderRegion of the satellite to have the reason ${reason}`,
    async () => {
      const ready = await readyOf(session, name);
      if (ready.reason === reason) return ready;
      throw new Error(JSON.stringify(ready));
    },
    deadlineMs,
  );

type Regions = Readonly<Record<string, number>>;

const listed = (regions: Regions) => Object.entries(regions).map(([name, replicas]) => ({ name, replicas }));

/** Sets the other regions of the hub, each with its number of renderers. */
export const changeHub = (session: Session, others: Regions) =>
  install(session.cluster, session, {
    ...joining('tls://nats:4222'),
    regions: [{ name: near }],
    otherRegions: listed(others),
  });

/** Sets the regions of the satellite. */
export const changeSatellite = async (session: Session, regions: Regions) =>
  install(satelliteOf(session), session, {
    ...ofSatellite(await linkUrl(session)),
    regions: listed(regions),
  });

/** Kills nats-server, and waits until its container runs again with the same data. */
export async function killNats({ cluster }: Session): Promise<void> {
  const restarts = async () => {
    const { items } = await cluster.get<{ items: PodFacts[] }>(['pods', '-l', 'app=nats']);
    return (items[0]?.status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
  };
  const before = await restarts();
  const code =
    'const fs=require("fs");for(const p of fs.readdirSync("/proc").filter((d)=>/^\\d+$/.test(d))){' +
    'let c="";try{c=fs.readFileSync("/proc/"+p+"/cmdline","utf8")}catch{};' +
    'if(c.includes("--config\\0"))process.kill(Number(p),"SIGKILL")}';
  await cluster.kubectl(['exec', 'deployment/nats', '-c', 'tools', '--', 'node', '-e', code]);
  // The kubelet waits up to five minutes before it restarts a container that has ended several times.
  await until('NATS to be restarted', async () => (await restarts()) > before, 330_000);
}
