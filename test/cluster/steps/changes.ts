import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { PodFacts } from '../cluster.ts';
import { images } from '../images.ts';
import { startPod } from '../start-pod.ts';
import { regionChangeSteps } from './region-changes.ts';
import {
  capture,
  check,
  describe,
  failuresOf,
  fullname,
  makeKey,
  noOutage,
  readyPods,
  regions,
  release,
  upgrade,
  isUp,
  until,
  watch,
  type CaptureFact,
  type Session,
  type StatusFact,
  type Step,
} from '../session.ts';

const request = JSON.stringify({ html: '<h1>@</h1>', delay: 300 });
const minutes = 60_000;

/** The folder of the chart of the last release, from which users upgrade. */
const previousChart = process.env['WEBCAPTURE_PREVIOUS_CHART'];

/** Makes a change and checks that it causes no outage: no capture fails meanwhile, and /status shows no outage. */
async function underLoad(session: Session, what: () => Promise<unknown>): Promise<string> {
  await noOutage(session);
  const statuses = watch<StatusFact>(session, ['status', '600']);
  const load = watch<CaptureFact>(session, ['load', session.key, '600', '2', request]);
  await until('captures to run', async () => load.facts.length > 0, minutes, 100);
  const start = Date.now();
  await what();
  const seconds = ((Date.now() - start) / 1000).toFixed(1);
  // Captures in progress complete.
  const made = load.facts.length;
  await until('captures after it', async () => load.facts.length >= made + 4, minutes, 100);
  load.stop();
  statuses.stop();
  const failed = failuresOf(load.facts);
  const down = statuses.facts.filter(({ overall, unreachable }) => unreachable !== undefined || !isUp(overall));
  check(failed.length === 0, `${failed.length} of ${load.facts.length} captures failed: ${describe(failed)}`);
  check(down.length === 0, `/status shows an outage: ${JSON.stringify(down.slice(0, 2))}`);
  const shown = [...new Set(statuses.facts.map(({ overall }) => overall))].join(', ');
  return `${seconds} s, ${load.facts.length} captures, none failed; /status shows ${shown}`;
}

const sandboxSteps: readonly Step[] = (['localhost', 'unconfined'] as const).map((mode) => ({
  title: `sandbox ${mode}: Chromium's own sandbox is on, and captures work`,
  run: async (session) => {
    const { cluster } = session;
    // The installer needs hostPath, and Unconfined is not allowed at the restricted level.
    await cluster.kubectl([
      'label',
      'namespace',
      cluster.namespace,
      'pod-security.kubernetes.io/enforce=privileged',
      '--overwrite',
    ]);
    const installer = mode === 'localhost' ? ['--set', 'renderer.sandbox.installer.enabled=true'] : [];
    await upgrade(session, ['--set', `renderer.sandbox.mode=${mode}`, ...installer]);
    if (mode === 'localhost') {
      // With the profile on the nodes, all pods but the installer can run at the restricted level.
      await upgrade(session, ['--set', 'renderer.sandbox.mode=localhost']);
      await cluster.kubectl([
        'label',
        'namespace',
        cluster.namespace,
        'pod-security.kubernetes.io/enforce=restricted',
        '--overwrite',
      ]);
      await cluster.kubectl(['rollout', 'restart', `deployment/${fullname}-renderer-us-east`]);
      await cluster.kubectl(['rollout', 'status', `deployment/${fullname}-renderer-us-east`, '--timeout=5m'], {
        timeoutMs: 6 * minutes,
      });
    }
    const [pod] = await readyPods(session, 'renderer', 1, ',webcapture.dev/region=us-east', 5 * minutes);
    const look =
      'const fs=require("fs");let o={on:0,off:0};for(const p of fs.readdirSync("/proc").filter((d)=>/^\\d+$/.test(d))){' +
      'let c="";try{c=fs.readFileSync("/proc/"+p+"/cmdline","utf8")}catch{};' +
      'if(/chromium/.test(c)&&!/--type=/.test(c))o[/--no-sandbox/.test(c)?"off":"on"]++};console.log(JSON.stringify(o))';
    const seen = JSON.parse(await cluster.exec(pod?.metadata.name ?? '', ['node', '-e', look])) as {
      on: number;
      off: number;
    };
    check(seen.on > 0 && seen.off === 0, `browsers: ${JSON.stringify(seen)}`);
    for (const region of regions) {
      const fact = await until(
        `a capture in ${region}`,
        async () => {
          const made = await capture(session, { html: '<h1>sandboxed</h1>', region, responseType: 'file' });
          if (made.status !== 200) throw new Error(JSON.stringify(made));
          return made;
        },
        minutes,
      );
      check(fact.head?.startsWith('89504e47') === true, JSON.stringify(fact));
    }
    return `${seen.on} browsers with their sandbox${mode === 'localhost' ? ', under Pod Security restricted' : ''}`;
  },
}));

/** Starts a web page in a pod, which captures can reach only if the operator allows it. */
async function startSite({ cluster }: Session): Promise<string> {
  const serve = 'require("http").createServer((q,r)=>r.end("<title>site</title><h1>A page inside</h1>")).listen(8080)';
  await startPod(cluster, { name: 'site', container: { image: images.front, args: ['-e', serve] } });
  return (await cluster.get<{ status: { podIP: string } }>(['pod', 'site'])).status.podIP;
}

const upgradeFrom = (chart: string): Step => ({
  title: 'an upgrade from the previous chart becomes ready, and captures work',
  run: async (session) => {
    await upgrade({ ...session, chart }, []);
    await upgrade(session, []);
    await noOutage(session);
    // Without a volume, NATS has lost its data if the new chart has replaced its pod.
    await makeKey(session);
    for (const region of regions) {
      const fact = await capture(session, { html: '<h1>upgraded</h1>', region, responseType: 'file' });
      check(fact.status === 200, JSON.stringify(fact));
    }
    return undefined;
  },
});

/** Returns a copy of the chart in which only the version differs, as in a release without changes. */
async function chartOfAnotherVersion(chart: string): Promise<string> {
  const folder = join(await mkdtemp(join(tmpdir(), 'webcapture-chart-')), 'webcapture');
  await cp(chart, folder, { recursive: true });
  const file = join(folder, 'Chart.yaml');
  await writeFile(file, (await readFile(file, 'utf8')).replace(/^(version|appVersion): .*$/gm, '$1: 9.9.9'));
  return folder;
}

/** Returns the running containers with their pods. The id of a container changes when it restarts. */
async function containersOf({ cluster }: Session): Promise<readonly string[]> {
  const { items } = await cluster.get<{ items: readonly PodFacts[] }>([
    'pods',
    '-l',
    `app.kubernetes.io/instance=${release}`,
    '--field-selector=status.phase=Running',
  ]);
  return items
    .flatMap(({ metadata, status }) =>
      (status.containerStatuses ?? []).map(({ containerID }) => `${metadata.name} ${containerID}`),
    )
    .toSorted();
}

export const changeSteps: readonly Step[] = [
  {
    title:
      'an internal address can be captured only after egress.allow contains it, by the service and the NetworkPolicy',
    run: async (session) => {
      const url = `http://${await startSite(session)}:8080/`;
      const before = await capture(session, { url });
      check(before.code === 'URL_BLOCKED', JSON.stringify(before));
      const fronts = (await session.cluster.pods('front')).map(({ metadata }) => `pod/${metadata.name}`);
      await upgrade(session, ['--set', `egress.allow={${new URL(url).hostname}/32}`]);
      // Fronts that are ending may still get requests, and have the old configuration.
      await session.cluster.kubectl(['wait', '--for=delete', '--timeout=90s', ...fronts]);
      const opened = await capture(session, { url });
      check(opened.status === 200 && opened.title === 'site', JSON.stringify(opened));
      return `${url}: ${before.code}, then "${opened.title}" in ${opened.ms} ms`;
    },
  },
  {
    title: 'a rolling update of all services under load loses no capture and is not an outage',
    run: (session) => underLoad(session, () => upgrade(session, ['--set', 'podAnnotations.turn=second'])),
  },
  {
    title: 'scaling up and down under load loses no capture',
    run: (session) =>
      underLoad(session, async () => {
        const scale = async (count: number) => {
          await session.cluster.kubectl(['scale', `deployment/${fullname}-renderer-us-east`, `--replicas=${count}`]);
          await readyPods(session, 'renderer', count, ',webcapture.dev/region=us-east', 5 * minutes);
        };
        await scale(2);
        await scale(1);
      }),
  },
  ...regionChangeSteps,
  ...(previousChart === undefined ? [] : [upgradeFrom(previousChart)]),
  ...sandboxSteps,
  {
    title: 'an upgrade keeps passwords and tokens, and restores the default values',
    run: async (session) => {
      const { cluster } = session;
      const secret = async (name: string) =>
        JSON.stringify((await cluster.get<{ data: object }>(['secret', `${fullname}-${name}`])).data);
      const before = [await secret('auth'), await secret('nats-auth')];
      await upgrade(session, []);
      check(
        JSON.stringify([await secret('auth'), await secret('nats-auth')]) === JSON.stringify(before),
        'a secret has changed',
      );
      const fact = await capture(session, { html: '<h1>after the upgrade</h1>', responseType: 'file' });
      check(fact.status === 200, `the key from before: ${JSON.stringify(fact)}`);
      return undefined;
    },
  },
  {
    title: 'an upgrade to another version keeps accounts, keys, records and files, and restarts no container',
    run: async (session) => {
      const request = { html: '<h1>kept</h1>', responseCache: { enabled: true } };
      const kept = await capture(session, request);
      check(kept.status === 200, JSON.stringify(kept));
      const before = await containersOf(session);
      const chart = await chartOfAnotherVersion(session.chart);
      try {
        await upgrade({ ...session, chart }, []);
      } finally {
        await rm(chart, { recursive: true });
      }
      const after = await containersOf(session);
      check(after.join('\n') === before.join('\n'), `before:\n${before.join('\n')}\nafter:\n${after.join('\n')}`);
      // The response comes from the cache, with the key, the record and the file from before the upgrade.
      const again = await capture(session, request);
      check(again.status === 200 && again.uuid === kept.uuid, JSON.stringify({ kept, again }));
      const file = await capture(session, { ...request, responseType: 'file' });
      check(file.head?.startsWith('89504e47') === true, JSON.stringify(file));
      return `${before.length} containers, none restarted`;
    },
  },
  {
    title: 'helm uninstall keeps only the CRD, the volume, the secrets and the Lease, which one command deletes',
    run: async ({ cluster }) => {
      await cluster.kubectl(['delete', 'pod', 'client', 'site', '--wait=false', '--ignore-not-found']);
      await cluster.helm(['uninstall', release, '--wait', '--timeout', '6m']);
      await cluster.kubectl(['delete', 'pvc,secret,lease', '-l', `app.kubernetes.io/instance=${release}`]);
      const kinds =
        'all,configmaps,secrets,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets,persistentvolumeclaims,leases';
      const crd = await cluster.kubectl([
        'get',
        'crd',
        'renderregions.webcapture.dev',
        '-o',
        'name',
        '--ignore-not-found',
      ]);
      const left = await until(
        'the last resources to be deleted',
        async () => {
          const all = await cluster.kubectl(['get', crd === '' ? kinds : `${kinds},renderregions`, '-o', 'name']);
          // Objects that every namespace contains, and the pods of this test, are omitted.
          const names = all.split('\n').filter((name) => !/^$|\/(client|site|default|kube-root-ca\.crt)$/.test(name));
          return names.length === 0 ? 'none' : Promise.reject(new Error(names.join(' ')));
        },
        5 * minutes,
      );
      return `left: ${left}`;
    },
  },
];
