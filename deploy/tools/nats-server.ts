import { inspectProgram } from './inspect-program.ts';
import { downloadRelease } from './strategies/download-release.ts';
import { findInCache } from './strategies/find-in-cache.ts';
import { findInPath } from './strategies/find-in-path.ts';
import { goInstall } from './strategies/go-install.ts';
import type { Tool } from './tool.ts';

// renovate: go github.com/nats-io/nats-server/v2
const builtVersion = '2.15.2';

/** Checksums from the release's SHA256SUMS. Change the version and the checksums together. */
const release = {
  version: '2.15.0',
  sha256: {
    'linux-amd64': '5d2c51caca950333aba84911df7d377f826f3a59ec36061c6539105084f65c92',
    'linux-arm64': 'cdc208f5a3f42963a52b6ab06ef65626bb870315dc936e26ba571780c6351112',
    'darwin-amd64': '5bd8b59ca5bf93fab3da2c5843cf564cd6e2e291e22ae3b861746e7ebe259b95',
    'darwin-arm64': 'e1c4e22d70bd44abfa0bcb3c16f7cf0c66f648c2e728c58924e8a1ce88913cc8',
  },
};

/**
 * The message broker and database. Older versions are refused, because they ignore required options without an error.
 */
export const natsServer: Tool = {
  name: 'nats-server',
  variable: 'WEBCAPTURE_NATS_SERVER_PATH',
  inspect: inspectProgram({ args: ['--version'], minimum: '2.14.0' }),
  find: [findInPath('nats-server'), findInCache(builtVersion, release.version)],
  install: [
    downloadRelease({
      ...release,
      url: (platform) =>
        `https://github.com/nats-io/nats-server/releases/download/v${release.version}/nats-server-v${release.version}-${platform}.tar.gz`,
      member: (platform) => `nats-server-v${release.version}-${platform}/nats-server`,
    }),
    goInstall({ package: 'github.com/nats-io/nats-server/v2', version: builtVersion }),
  ],
  byHand: (platform) =>
    platform === 'darwin'
      ? 'brew install nats-server'
      : `go install github.com/nats-io/nats-server/v2@v${builtVersion} && export PATH="$PATH:$(go env GOPATH)/bin"`,
};
