// `npm run test:cluster`: installs the chart into the cluster that KUBECONFIG names, with images built from these sources,
// and proves it with real pods. WEBCAPTURE_IMAGE_LOAD is the command that brings an image archive in. See CONTRIBUTING.
//   npm run test:cluster -- install network    only these groups (install is always needed first)
//   npm run test:cluster -- regions            a hub there, and a satellite in the cluster of WEBCAPTURE_SATELLITE_KUBECONFIG; alone
//   npm run test:cluster -- chaos              ten minutes of faults over a hub and a satellite; alone
//   WEBCAPTURE_PREVIOUS_CHART=<folder>         also upgrades from that chart
//   npm run test:cluster -- --keep             leaves the release for a look
//   npm run test:cluster -- --images           only builds and brings the images, and tells the tag for WEBCAPTURE_IMAGE_TAG: for a
//                                              cluster whose network has no way out to the packages
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { ensureTool } from '../../deploy/tools/ensure-tool.ts';
import { Cluster, run } from './cluster.ts';
import { bringImages } from './images.ts';
import { brokerDeathSteps } from './steps/broker-deaths.ts';
import { bucketSteps } from './steps/bucket.ts';
import { changeSteps } from './steps/changes.ts';
import { deathSteps } from './steps/deaths.ts';
import { installSteps } from './steps/install.ts';
import { networkSteps } from './steps/network.ts';
import { chaosSteps } from './steps/regions-chaos.ts';
import { regionSteps } from './steps/regions.ts';
import type { Session } from './session.ts';

const say = (line: string) => process.stdout.write(`${line}\n`);
const oneCluster = {
  install: installSteps,
  network: networkSteps,
  deaths: deathSteps,
  broker: brokerDeathSteps,
  bucket: bucketSteps,
  changes: changeSteps,
};

const wanted = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
const keep = process.argv.includes('--keep');
/** Each of them is a release of its own, on two clusters. */
const twoClusters = { regions: regionSteps, chaos: chaosSteps };
const onTwo = wanted.some((name) => name in twoClusters);
if (onTwo && process.env['WEBCAPTURE_SATELLITE_KUBECONFIG'] === undefined) {
  say('WEBCAPTURE_SATELLITE_KUBECONFIG must name the cluster of the satellite.');
  process.exit(1);
}
const groups = onTwo ? twoClusters : oneCluster;
const path = async (name: string) => (await ensureTool(name, { log: say })).path;

const programs = { nats: await path('nats-server'), bucket: await path('fake-gcs-server') };
if (process.argv.includes('--images')) {
  await bringImages(programs, say);
  process.exit(0);
}
await run('kubectl', ['version']).catch((error: unknown) => {
  say(`No cluster: ${error instanceof Error ? error.message : String(error)}\nKUBECONFIG must name one.`);
  process.exit(1);
});
const cluster = new Cluster(`webcapture-test-${process.pid}`, await path('helm'));
const imageArgs = [...(await bringImages(programs, say)), ...(onTwo ? [] : await storageArgs())];
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
        const told = await step.run(session);
        passed++;
        say(`✓ ${step.title} (${seconds()})${told === undefined ? '' : `\n    ${told.replaceAll('\n', '\n    ')}`}`);
      } catch (error) {
        failed++;
        say(`✗ ${step.title} (${seconds()})\n    ${error instanceof Error ? error.message : String(error)}`);
        say(await troubles());
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

/** How the pods are, and what the cluster says of them. */
async function troubles(): Promise<string> {
  const looks = [
    ['get', 'pods', '-o', 'wide'],
    ['get', 'events', '--field-selector', 'type!=Normal', '--sort-by', '.lastTimestamp'],
    ['logs', '-l', 'app.kubernetes.io/name=webcapture', '--all-containers', '--tail', '4', '--prefix'],
  ];
  const told = await Promise.all(looks.map((args) => cluster.kubectl(args).catch((error: unknown) => String(error))));
  return told
    .map((text) => text.trim().split('\n').slice(-30).join('\n'))
    .join('\n')
    .replaceAll(/^/gm, '    | ');
}

/** A cluster without a StorageClass for everybody has no volume for the embedded NATS. */
async function storageArgs(): Promise<readonly string[]> {
  const classes = await run('kubectl', ['get', 'storageclass', '-o', 'json']);
  const isDefault = /"storageclass\.kubernetes\.io\/is-default-class": "true"/.test(classes);
  return ['--set', `nats.persistence.enabled=${isDefault}`];
}
