import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { run } from '../cluster.ts';
import { check, fullname, makeKey, noOutage, readyPods, type Session, type Step } from '../session.ts';

const folder = new URL('../../../docs/runbooks/', import.meta.url);

/** Error messages that are expected in a healthy cluster, or in one without the components of an operator's cluster. */
const expected = [
  // No container has restarted.
  /previous terminated container .* not found/,
  // The cluster has no metrics server, and no Prometheus operator.
  /Metrics API not available/,
  /doesn't have a resource type "(servicemonitors|podmonitorings)"/,
];

/** The image of the nats CLI may not be available in the cluster. A test of the chart runs its commands. */
const isOfNatsBox = (line: string) => line.includes('nats-box');

/** Returns the kubectl commands of the runbooks, each once, without comments and filters. */
async function commands(): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md'));
  const pages = await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')));
  const lines = pages.flatMap((page) => page.match(/^kubectl .*$/gm) ?? []);
  return [...new Set(lines.map((line) => line.replace(/\s+#\s.*$/, '').replace(/ \| .*$/, '')))].filter(
    (line) => !isOfNatsBox(line),
  );
}

/** Replaces the names and variables that the runbooks use by those of the tested release. */
const adapted = (line: string, { namespace, pod }: { readonly namespace: string; readonly pod: string }) =>
  line
    .replace('-n webcapture', `-n ${namespace}`)
    .replace(':webcapture:', `:${namespace}:`)
    .replaceAll(/\bwebcapture-(?=nats|front|controller|renderer)/g, `${fullname}-`)
    .replaceAll('$REGION', 'us-east')
    .replaceAll('$POD', pod);

/** Starts a port-forward, and ends it when it has connected to its pod. */
async function forwards(line: string): Promise<void> {
  const ports = [...line.matchAll(/ (\d+)(?= |$)/g)].map(([, port]) => port);
  const [target = ''] = / (?:deployment|service)\/\S+/.exec(line) ?? [];
  const [before = ''] = line.split(' port-forward');
  // Any free local port, because the tests may run next to other programs.
  const args = [...before.split(' ').slice(1), 'port-forward', target.trim(), ...ports.map((port) => `:${port}`)];
  const child = spawn('kubectl', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
  let forwarded = 0;
  for await (const text of createInterface(child.stdout)) {
    if (text.includes('127.0.0.1')) forwarded += 1;
    if (forwarded === ports.length) break;
  }
  child.kill();
  clearTimeout(timer);
  check(forwarded === ports.length, `${line}: only ${forwarded} of ${ports.length} ports are forwarded`);
}

async function runCommand(line: string): Promise<void> {
  if (line.includes(' port-forward ')) return forwards(line);
  await run('sh', ['-c', line], { timeoutMs: 90_000 }).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    check(
      expected.some((pattern) => pattern.test(message)),
      `${line}: ${message}`,
    );
  });
}

/** Commands that change the cluster, which come last. */
const isChange = (line: string) => / (scale|restart|delete) /.test(line);

async function runbooks(session: Session): Promise<string> {
  const { cluster } = session;
  const [front] = await readyPods(session, 'front', 2);
  const names = { namespace: cluster.namespace, pod: front?.metadata.name ?? '' };
  const lines = (await commands()).map((line) => adapted(line, names));
  check(lines.length > 40, `only ${lines.length} commands were found`);
  for (const line of lines.filter((each) => !isChange(each))) await runCommand(line);
  for (const line of lines.filter(isChange)) await runCommand(line);
  await cluster.kubectl(['scale', `deployment/${fullname}-front`, '--replicas=2']);
  await cluster.kubectl(['scale', `deployment/${fullname}-renderer-us-east`, '--replicas=1']);
  for (const [component, count] of [
    ['nats', 1],
    ['front', 2],
    ['renderer', 2],
  ] as const) {
    await readyPods(session, component, count);
  }
  await noOutage(session);
  // Without a volume, NATS has lost its data when a command restarted it.
  await makeKey(session);
  return `${lines.length} commands`;
}

export const runbookSteps: readonly Step[] = [{ title: 'the kubectl commands of the runbooks work', run: runbooks }];
