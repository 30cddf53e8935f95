import { readFile } from 'node:fs/promises';
import { inject } from 'vitest';
import { ControlPlane } from '../../harness/control-plane.ts';
import { until } from '../../harness/until.ts';

let shared: Promise<ControlPlane> | undefined;

/** Returns the control plane of all suites in a file, with the CRD of RenderRegions. Its processes end with this one. */
export function sharedPlane(): Promise<ControlPlane> {
  shared ??= start();
  return shared;
}

async function start(): Promise<ControlPlane> {
  const startedAt = performance.now();
  const plane = await ControlPlane.start(inject('tempFolder'));
  const crd = await readFile(new URL('../../../charts/webcapture/crds/renderregions.yaml', import.meta.url), 'utf8');
  await plane.api().do('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  const list = '/apis/webcapture.dev/v1alpha1/renderregions';
  await until('the CRD to be served', async () => (await plane.api().raw('GET', list)).status === 200);
  process.stdout.write(`the control plane is up after ${((performance.now() - startedAt) / 1000).toFixed(1)} s\n`);
  return plane;
}
