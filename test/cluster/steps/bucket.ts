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
const bucket = 'captures';

/** A server with a bucket, in a pod behind a Service of its name. */
interface BucketServer {
  readonly name: string;
  /** The value of `storage.type`. */
  readonly type: 'gcs' | 's3';
  readonly port: number;
  readonly container: { readonly image: string; readonly [field: string]: unknown };
  readonly volumes?: readonly object[];
  /** A JavaScript expression of a promise that resolves when the server at `endpoint` has the bucket. */
  create(endpoint: string): string;
  /** A JavaScript expression of a promise of the bucket's objects, as `{ name, size }`. */
  list(endpoint: string): string;
}

/** Has the API of Cloud Storage, and its objects in memory. */
const cloudStorage: BucketServer = {
  name: 'bucket',
  type: 'gcs',
  port: 4443,
  container: {
    image: images.bucket,
    args: ['-scheme', 'http', '-port', '4443', '-backend', 'memory', '-log-level', 'error'],
  },
  create: (endpoint) =>
    `fetch("${endpoint}/storage/v1/b?project=test",{method:"POST",headers:{"content-type":"application/json"},` +
    `body:JSON.stringify({name:"${bucket}"})}).then((r)=>{if(!r.ok)throw new Error(r.status)})`,
  list: (endpoint) => `fetch("${endpoint}/storage/v1/b/${bucket}/o").then((r)=>r.json()).then((l)=>l.items??[])`,
};

const s3Secret = { AWS_ACCESS_KEY_ID: 'key-of-tests', AWS_SECRET_ACCESS_KEY: 'secret-of-tests' };
const s3Code = (endpoint: string, code: string) =>
  `import("/opt/webcapture/services/shared/files/s3-bucket.ts").then(({loadS3})=>loadS3()).then(({S3})=>{` +
  `const s3=new S3({endpoint:"${endpoint}",region:"us-east-1",forcePathStyle:true,` +
  `credentials:{accessKeyId:"${s3Secret.AWS_ACCESS_KEY_ID}",secretAccessKey:"${s3Secret.AWS_SECRET_ACCESS_KEY}"}});return ${code}})`;

/** Has the API of S3, and its objects in a folder. */
const s3: BucketServer = {
  name: 's3',
  type: 's3',
  port: 7070,
  container: {
    image: images.s3,
    args: ['--port', ':7070', '--region', 'us-east-1', '--quiet', 'posix', '/objects'],
    env: [
      { name: 'ROOT_ACCESS_KEY', value: s3Secret.AWS_ACCESS_KEY_ID },
      { name: 'ROOT_SECRET_KEY', value: s3Secret.AWS_SECRET_ACCESS_KEY },
    ],
    volumeMounts: [{ name: 'objects', mountPath: '/objects' }],
  },
  volumes: [{ name: 'objects', emptyDir: {} }],
  create: (endpoint) => s3Code(endpoint, `s3.createBucket({Bucket:"${bucket}"})`),
  list: (endpoint) =>
    s3Code(
      endpoint,
      `s3.listObjectsV2({Bucket:"${bucket}"}).then(({Contents=[]})=>Contents.map(({Key,Size})=>({name:Key,size:Size})))`,
    ),
};

/** Starts the server, and returns its address once it has the bucket. */
async function startBucket({ cluster }: Session, server: BucketServer): Promise<string> {
  const { name, port, container, volumes } = server;
  const labels = { app: name };
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: labels, ports: [{ port }] },
  });
  const readinessProbe = { tcpSocket: { port }, periodSeconds: 1 };
  await startPod(cluster, { name, labels, container: { ...container, readinessProbe }, ...(volumes && { volumes }) });
  const endpoint = `http://${name}.${cluster.namespace}.svc:${port}`;
  // A Service refuses connections until the nodes know its ready pod.
  await until('the Service of the bucket to answer', () => inClient(cluster, server.create(endpoint)), minutes);
  return endpoint;
}

const inClient = (cluster: Session['cluster'], code: string): Promise<string> =>
  cluster.exec(clientPod, ['node', '-e', code]);

async function stopBucket({ cluster }: Session, { name }: BucketServer): Promise<void> {
  await cluster.kubectl(['delete', `pod/${name}`, `service/${name}`, '--now', '--ignore-not-found']);
  // The uninstallation is tested in the same namespace later.
  await cluster.kubectl(['delete', `secret/${name}`, '--ignore-not-found']);
}

/** Installs with files in the bucket, and checks that the files of captures are there. */
async function captureIntoBucket(session: Session, server: BucketServer, storage: readonly string[]): Promise<string> {
  const { cluster } = session;
  const { type } = server;
  const dns = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } };
  const egress = { to: [{ podSelector: { matchLabels: { app: server.name } } }], ports: [{ port: server.port }] };
  const endpoint = await startBucket(session, server);
  const values = [`bucket=${bucket}`, 'prefix=cluster/', `endpoint=${endpoint}`, ...storage];
  await upgrade(session, [
    '--set',
    [`storage.type=${type}`, ...values.map((value) => `storage.${type}.${value}`)].join(),
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
  const listed = await inClient(cluster, `${server.list(endpoint)}.then((l)=>console.log(JSON.stringify(l)))`);
  const objects = JSON.parse(listed) as { readonly name: string; readonly size: string | number }[];
  const files = objects.filter(({ name, size }) => name.startsWith('cluster/') && sizes.includes(Number(size)));
  check(files.length >= regions.length, `no ${regions.length} objects of ${sizes.join()} bytes: ${listed}`);
  return `${files.length} files in the bucket, e.g. ${files[0]?.name}`;
}

export const bucketSteps: readonly Step[] = [
  {
    title: 'files in an S3 bucket: storage.type s3, with the credentials of a Secret',
    run: async (session) => {
      await session.cluster.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's3' }, stringData: s3Secret });
      return captureIntoBucket(session, s3, ['existingSecret=s3']);
    },
  },
  {
    title: 'files in a bucket: storage.type gcs, reached through an additional egress rule',
    run: async (session) => {
      const report = await captureIntoBucket(session, cloudStorage, []);
      await stopBucket(session, s3);
      return report;
    },
  },
  {
    title: '/status and captures report an unavailable bucket, and the default values restore the embedded store',
    run: async (session) => {
      await noOutage(session);
      await stopBucket(session, cloudStorage);
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
