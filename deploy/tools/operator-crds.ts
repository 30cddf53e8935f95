import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { findInCache } from './strategies/find-in-cache.ts';
import { goModuleFiles } from './strategies/go-module-files.ts';
import type { Tool } from './tool.ts';

const modules = [
  {
    module: 'github.com/prometheus-operator/prometheus-operator',
    version: '0.85.0',
    files: ['servicemonitors', 'prometheusrules'].map(
      (name) => `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`,
    ),
  },
  {
    module: 'github.com/kedacore/keda/v2',
    version: '2.21.0',
    files: ['config/crd/bases/keda.sh_scaledobjects.yaml'],
  },
  {
    module: 'sigs.k8s.io/gateway-api',
    version: '1.4.1',
    files: ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  },
];
const wanted = modules.flatMap(({ files }) => files.map((file) => basename(file)));
const version = modules.map((it) => it.version).join('-');

/** A folder with the CRDs of the chart's optional objects, as their projects publish them. */
export const operatorCrds: Tool = {
  name: 'operator-crds',
  inspect: async (folder) => {
    const files = new Set(await readdir(folder));
    const missing = wanted.filter((name) => !files.has(name));
    if (missing.length > 0) throw new Error(`${folder} has no ${missing.join(', ')}`);
    return version;
  },
  find: [findInCache(version)],
  install: [goModuleFiles(version, modules)],
  byHand: () => 'install Go (https://go.dev/doc/install), which downloads them',
};
