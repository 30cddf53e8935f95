import { inspectProgram } from './inspect-program.ts';
import { findAt } from './strategies/find-at.ts';
import { findInPath } from './strategies/find-in-path.ts';
import type { Tool } from './tool.ts';

/** Builds other tools. Since 1.21, Go downloads the newer toolchain that a module requires. */
export const go: Tool = {
  name: 'go',
  inspect: inspectProgram({ args: ['version'], minimum: '1.21' }),
  find: [findInPath('go'), findAt('/usr/local/go/bin/go', '/opt/homebrew/bin/go')],
  install: [],
  byHand: (platform) => (platform === 'darwin' ? 'brew install go' : 'see https://go.dev/doc/install'),
};
