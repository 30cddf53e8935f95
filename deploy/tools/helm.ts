import { inspectProgram } from './inspect-program.ts';
import { downloadRelease } from './strategies/download-release.ts';
import { findInCache } from './strategies/find-in-cache.ts';
import { findInPath } from './strategies/find-in-path.ts';
import { goInstall } from './strategies/go-install.ts';
import type { Tool } from './tool.ts';

// renovate: go helm.sh/helm/v3
const version = '3.22.0';

/** Checksums from get.helm.sh. Change the version and the checksums together. */
const release = {
  version,
  sha256: {
    'linux-amd64': '1e4ab49e429626cf6c6958d914248b78c9730803c2751b87627e171dc800e7bb',
    'linux-arm64': 'f14e804dfee240f55525b667488fe9adca349e63e00c9af634c0beb1421ac310',
  },
};

/** Renders and installs the chart; for its tests only. */
export const helm: Tool = {
  name: 'helm',
  inspect: inspectProgram({ args: ['version', '--template', '{{.Version}}'], minimum: '3.14.0' }),
  find: [findInPath('helm'), findInCache(version)],
  install: [
    downloadRelease({
      ...release,
      url: (platform) => `https://get.helm.sh/helm-v${version}-${platform}.tar.gz`,
      member: (platform) => `${platform}/helm`,
    }),
    goInstall({ package: 'helm.sh/helm/v3/cmd/helm', version }),
  ],
  byHand: (platform) =>
    platform === 'darwin' ? 'brew install helm' : `go install helm.sh/helm/v3/cmd/helm@v${version}`,
};
