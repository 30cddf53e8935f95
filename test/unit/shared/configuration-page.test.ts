import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { configurationPage, variableNamesModule } from '../../../deploy/docs/configuration-page.ts';
import { controllerVariables, readControllerConfig } from '../../../services/controller/config.ts';
import { frontVariables, readFrontConfig } from '../../../services/front/config.ts';
import { readRendererConfig, rendererVariables } from '../../../services/renderer/config.ts';

test('docs/configuration.md is up to date (npm run docs)', async () => {
  const configuration = await readFile(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
  expect(configuration === configurationPage()).toBe(true);
});

test('the list of known variables is up to date (npm run docs)', async () => {
  const file = new URL('../../../services/shared/runtime/variable-names.ts', import.meta.url);
  expect(await readFile(file, 'utf8')).toBe(variableNamesModule());
});

test.each([
  ['front', readFrontConfig, frontVariables],
  ['renderer', readRendererConfig, rendererVariables],
  ['controller', readControllerConfig, controllerVariables],
] as const)('the documented variables of the %s are exactly those that it reads', (_, readConfig, listed) => {
  // With these values, every variable is read, including those of Kubernetes.
  const set = { WEBCAPTURE_KUBERNETES: 'on', WEBCAPTURE_RELEASE: 'prod', KUBECONFIG: '/kubeconfig' };
  const read = new Set<string>();
  readConfig(
    new Proxy<Record<string, string | undefined>>(set, {
      get: (target, name: string) => {
        read.add(name);
        return target[name];
      },
    }),
  );
  const ours = [...read].filter((name) => name === 'PORT' || name.startsWith('WEBCAPTURE_'));
  expect(listed.map(({ name }) => name).toSorted()).toEqual(ours.toSorted());
});
