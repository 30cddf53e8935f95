import { images } from '../images.ts';
import { startPod } from '../start-pod.ts';
import {
  act,
  capture,
  check,
  clientPod,
  noOutage,
  regions,
  until,
  upgrade,
  type Session,
  type StatusFact,
  type Step,
} from '../session.ts';

const minutes = 60_000;
const port = 4443;
const bucket = 'captures';

/** Starts a server with the API of Cloud Storage and a bucket in memory, behind a Service. */
async function startBucket({ cluster }: Session): Promise<string> {
  const labels = { app: 'bucket' };
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'bucket' },
    spec: { selector: labels, ports: [{ port }] },
  });
  await startPod(cluster, {
    name: 'bucket',
    labels,
    container: {
      image: images.bucket,
      args: ['-scheme', 'http', '-port', String(port), '-backend', 'memory', '-log-level', 'error'],
      readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
    },
  });
  const endpoint = `http://bucket.${cluster.namespace}.svc:${port}`;
  // A Service refuses connections until the nodes know its ready pod.
  const list = `fetch("${endpoint}/storage/v1/b?project=test").then((r)=>{if(!r.ok)throw new Error(r.status)})`;
  await until('the Service of the bucket to answer', () => inClient(cluster, list), minutes);
  await inClient(
    cluster,
    `fetch("${endpoint}/storage/v1/b?project=test",{method:"POST",headers:{"content-type":"application/json"},` +
      `body:JSON.stringify({name:"${bucket}"})}).then((r)=>{if(!r.ok)throw new Error(r.status);console.log(r.status)})`,
  );
  return endpoint;
}

const inClient = (cluster: Session['cluster'], code: string): Promise<string> =>
  cluster.exec(clientPod, ['node', '-e', code]);

async function stopBucket({ cluster }: Session): Promise<void> {
  await cluster.kubectl(['delete', 'pod/bucket', 'service/bucket', '--now', '--ignore-not-found']);
}

export const bucketSteps: readonly Step[] = [
  {
    title: 'files in a bucket: storage.type gcs, reached through an additional egress rule',
    run: async (session) => {
      const { cluster } = session;
      const endpoint = await startBucket(session);
      const dns = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } };
      const egress = { to: [{ podSelector: { matchLabels: { app: 'bucket' } } }], ports: [{ port }] };
      await upgrade(session, [
        '--set',
        `storage.type=gcs,storage.gcs.bucket=${bucket},storage.gcs.prefix=cluster/,storage.gcs.endpoint=${endpoint}`,
        '--set',
        'renderer.sandbox.acceptUnsandboxedBrowser=true',
        '--set-json',
        `networkPolicy.extraEgress=${JSON.stringify([egress])}`,
        '--set-json',
        `networkPolicy.dnsTo=${JSON.stringify([dns])}`,
      ]);
      const sizes: number[] = [];
      for (const region of regions) {
        const fact = await capture(session, { html: '<h1>in a bucket</h1>', region, responseType: 'file' });
        check(fact.status === 200 && fact.head?.startsWith('89504e47') === true, JSON.stringify(fact));
        sizes.push(fact.size ?? 0);
      }
      const listed = await inClient(
        cluster,
        `fetch("${endpoint}/storage/v1/b/${bucket}/o").then((r)=>r.json()).then((l)=>console.log(JSON.stringify(l.items??[])))`,
      );
      const objects = JSON.parse(listed) as { name: string; size: string; contentType: string }[];
      const files = objects.filter(({ contentType }) => contentType === 'image/png');
      for (const size of sizes) {
        check(
          files.some((it) => Number(it.size) === size && it.name.startsWith('cluster/')),
          `no object of ${size} bytes: ${listed}`,
        );
      }
      return `${files.length} files in the bucket, e.g. ${files[0]?.name}`;
    },
  },
  {
    title: '/status and captures report an unavailable bucket, and the default values restore the embedded store',
    run: async (session) => {
      await noOutage(session);
      await stopBucket(session);
      const goneAt = Date.now();
      const outage = await until(
        '/status to show it',
        async () => {
          const [fact] = await act<StatusFact>(session, ['status', '0.1']);
          return fact?.components?.['storage'] === 'operational' ? undefined : fact;
        },
        2 * minutes,
        250,
      );
      const turnedMs = outage.at - goneAt;
      const request = { html: '<h1>nowhere to go</h1>', timeout: 5000, responseType: 'file' };
      const fact = await capture(session, request);
      check(fact.code === 'STORAGE_FAILED', JSON.stringify(fact));
      await upgrade(session, []);
      await noOutage(session);
      const back = await capture(session, { html: '<h1>back</h1>', responseType: 'file' });
      check(back.status === 200, JSON.stringify(back));
      const shown = `${outage.components?.['storage']} ("${outage.messages?.['storage'] ?? ''}")`;
      return `storage ${shown} after ${turnedMs} ms; a capture: ${fact.code} after ${fact.ms} ms`;
    },
  },
];
