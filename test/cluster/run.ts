// `npm run test:cluster`: installs the chart into the cluster of KUBECONFIG, with images built from these sources,
// and tests it with real pods. WEBCAPTURE_IMAGE_LOAD is the command that loads an image archive into the cluster. See CONTRIBUTING.
//   npm run test:cluster -- install network    only these groups, after install
//   npm run test:cluster -- regions            a hub there, and a satellite in the cluster of WEBCAPTURE_SATELLITE_KUBECONFIG; without other groups
//   npm run test:cluster -- chaos              ten minutes of faults in a hub and a satellite; without other groups
//   WEBCAPTURE_PREVIOUS_CHART=<folder>         also upgrades from that chart
//   npm run test:cluster -- --keep             keeps the release for inspection
//   npm run test:cluster -- --images           only builds and loads the images, and prints the tag for WEBCAPTURE_IMAGE_TAG: for a
//                                              cluster without access to the package registries
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { ensureTool } from '../../deploy/tools/ensure-tool.ts';
import { Cluster, run } from './cluster.ts';
import { loadImages } from './images.ts';
import { brokerDeathSteps } from './steps/broker-deaths.ts';
import { bucketSteps } from './steps/bucket.ts';
import { changeSteps } from './steps/changes.ts';
import { deathSteps } from './steps/deaths.ts';
import { installSteps } from './steps/install.ts';
import { networkSteps } from './steps/network.ts';
import { chaosSteps } from './steps/regions-chaos.ts';
import { regionSteps } from './steps/regions.ts';
import { runbookSteps } from './steps/runbooks.ts';
import type { Session } from './session.ts';

const say = (line: string) => process.stdout.write(`${line}\n`);
const oneCluster = {
  install: installSteps,
  network: networkSteps,
  deaths: deathSteps,
  broker: brokerDeathSteps,
  bucket: bucketSteps,
  runbooks: runbookSteps,
  changes: changeSteps,
};

const wanted = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
const keep = process.argv.includes('--keep');
/** Each of these groups is a separate release, on two clusters. */
const twoClusters = { regions: regionSteps, chaos: chaosSteps };
const onTwo = wanted.some((name) => name in twoClusters);
if (onTwo && process.env['WEBCAPTURE_SATELLITE_KUBECONFIG'] === undefined) {
  say('WEBCAPTURE_SATELLITE_KUBECONFIG must name the kubeconfig of the cluster of the satellite.');
  process.exit(1);
}
const groups = onTwo ? twoClusters : oneCluster;
const path = async (name: string) => (await ensureTool(name, { log: say })).path;

const programs = {
  nats: await path('nats-server'),
  bucket: await path('fake-gcs-server'),
  s3: await path('versitygw'),
};
if (process.argv.includes('--images')) {
  await loadImages(programs, say);
  process.exit(0);
}
await run('kubectl', ['version']).catch((error: unknown) => {
  say(
    `The cluster cannot be reached: ${error instanceof Error ? error.message : String(error)}\nKUBECONFIG must name its kubeconfig.`,
  );
  process.exit(1);
});
const cluster = new Cluster(`webcapture-test-${process.pid}`, await path('helm'));
const imageArgs = [...(await loadImages(programs, say)), ...(onTwo ? [] : await storageArgs())];
const session: Session = {
  cluster,
  imageArgs,
  chart: fileURLToPath(new URL('../../charts/webcapture', import.meta.url)),
  say,
  key: '',
};

let passed = 0;
let failed = 0;
try {
  run: for (const [name, steps] of Object.entries(groups)) {
    if (wanted.length > 0 && name !== 'install' && !wanted.includes(name)) continue;
    for (const step of steps) {
      const start = performance.now();
      const seconds = () => `${((performance.now() - start) / 1000).toFixed(1)} s`;
      try {
        const report = await step.run(session);
        passed++;
        say(
          `✓ ${step.title} (${seconds()})${report === undefined ? '' : `\n    ${report.replaceAll('\n', '\n    ')}`}`,
        );
      } catch (error) {
        failed++;
        say(`✗ ${step.title} (${seconds()})\n    ${error instanceof Error ? error.message : String(error)}`);
        say(await diagnostics());
        if (step.vital === true) break run;
      }
    }
  }
} finally {
  if (!keep)
    await cluster
      .kubectl(['delete', 'namespace', cluster.namespace, '--wait=false', '--ignore-not-found'])
      .catch(() => '');
}
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** Describes the pods, their warnings and the end of their logs. */
async function diagnostics(): Promise<string> {
  const commands = [
    ['get', 'pods', '-o', 'wide'],
    ['get', 'events', '--field-selector', 'type!=Normal', '--sort-by', '.lastTimestamp'],
    ['logs', '-l', 'app.kubernetes.io/name=webcapture', '--all-containers', '--tail', '4', '--prefix'],
  ];
  const outputs = await Promise.all(
    commands.map((args) => cluster.kubectl(args).catch((error: unknown) => String(error))),
  );
  return outputs
    .map((text) => text.trim().split('\n').slice(-30).join('\n'))
    .join('\n')
    .replaceAll(/^/gm, '    | ');
}

/** Without a default StorageClass there is no volume for the embedded NATS. */
async function storageArgs(): Promise<readonly string[]> {
  const classes = await run('kubectl', ['get', 'storageclass', '-o', 'json']);
  const isDefault = /"storageclass\.kubernetes\.io\/is-default-class": "true"/.test(classes);
  return ['--set', `nats.persistence.enabled=${isDefault}`];
}
