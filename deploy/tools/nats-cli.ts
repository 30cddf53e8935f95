import { inspectProgram } from './inspect-program.ts';
import { findInCache } from './strategies/find-in-cache.ts';
import { findInPath } from './strategies/find-in-path.ts';
import { goInstall } from './strategies/go-install.ts';
import type { Tool } from './tool.ts';

// renovate: go github.com/nats-io/natscli
const version = '0.5.1';

/** The `nats` command, which backs up and restores streams; for tests only. */
export const natsCli: Tool = {
  name: 'nats',
  inspect: inspectProgram({ args: ['--version'], minimum: '0.5.0' }),
  find: [findInPath('nats'), findInCache(version)],
  install: [goInstall({ package: 'github.com/nats-io/natscli/nats', version })],
  byHand: (platform) =>
    platform === 'darwin'
      ? 'brew install nats-io/nats-tools/nats'
      : `go install github.com/nats-io/natscli/nats@v${version}`,
};
