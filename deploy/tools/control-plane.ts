import { join } from 'node:path';
import { inspectProgram } from './inspect-program.ts';
import { downloadRelease } from './strategies/download-release.ts';
import { findInCache } from './strategies/find-in-cache.ts';
import { findInPath } from './strategies/find-in-path.ts';
import { goBuild } from './strategies/go-build.ts';
import type { Tool } from './tool.ts';

const builtVersion = '1.36.3';
const sources = {
  module: new URL('control-plane/', import.meta.url),
  version: builtVersion,
  variables: {
    'k8s.io/component-base/version.gitVersion': `v${builtVersion}`,
    'k8s.io/component-base/version.gitMajor': '1',
    'k8s.io/component-base/version.gitMinor': '36',
  },
};

/**
 * The release against which Kubernetes' own projects test. The checksums are from envtest-releases.yaml of
 * kubernetes-sigs/controller-tools; the build files of other projects contain the same ones.
 */
const release = {
  version: '1.36.2',
  sha512: {
    'linux-amd64':
      'ea743186c8a799f5cf8faf16969f86189d003cb7d130e0ac4b58789f1e5748dcf30ebe91c837a10d5ac415383da3e10b9e64d65785c938c23e739781cfb76f08',
    'linux-arm64':
      '2d72ee985a8e262a3c57dc9f7f0fd891f6a8c7bf7ebaa2db6dc6d8eac8ae28181afe51c1f368b67756cdb40b10de9b205609e1726e5f27f7c6d824dd9c6649ac',
    'darwin-arm64':
      '9278f9e5af556b2f1f2d139769c1f0d717c7b4426917fdebdba898bcb725a916e4910d6160886194ff9be9589ea7c5c32c2b8ae0754703874b7c8ba8ddfc41ce',
  },
};

const inspectServer = inspectProgram({ args: ['--version'], minimum: '1.33' });
const inspectEtcd = inspectProgram({ args: ['--version'], minimum: '3.5' });

/** A folder with `etcd` and `kube-apiserver`: a real Kubernetes API without nodes. */
export const controlPlane: Tool = {
  name: 'control-plane',
  // The tests of other projects use the same variable.
  variable: 'KUBEBUILDER_ASSETS',
  inspect: async (folder) => {
    await inspectEtcd(join(folder, 'etcd'));
    return inspectServer(join(folder, 'kube-apiserver'));
  },
  find: [findInCache(builtVersion, release.version)],
  install: [
    downloadRelease({
      ...release,
      url: (platform) =>
        `https://github.com/kubernetes-sigs/controller-tools/releases/download/envtest-v${release.version}/envtest-v${release.version}-${platform}.tar.gz`,
      member: () => 'controller-tools/envtest',
    }),
    goBuild({ ...sources, programs: ['etcd', 'kube-apiserver'], kept: '.' }),
  ],
  byHand: () =>
    'go run sigs.k8s.io/controller-runtime/tools/setup-envtest@latest use 1.36.2, and put the folder that it prints into KUBEBUILDER_ASSETS',
};

const controllerManagerName = 'kube-controller-manager';

/** The program that creates and deletes the pods of deployments. Only a few tests need it, and there is no small download of it. */
export const controllerManager: Tool = {
  name: controllerManagerName,
  inspect: inspectServer,
  find: [findInPath(controllerManagerName), findInCache(builtVersion)],
  install: [goBuild({ ...sources, programs: [controllerManagerName], kept: controllerManagerName })],
  byHand: () => `put ${controllerManagerName} of https://kubernetes.io/releases/download/ into a folder of PATH`,
};
