import { inspectProgram } from './inspect-program.ts';
import { aptInstall } from './strategies/apt-install.ts';
import { findInPath, programsInPath } from './strategies/find-in-path.ts';
import type { Tool } from './tool.ts';

/** Runs a program with a clock that differs from the machine's; for tests only. */
export const faketime: Tool = {
  name: 'faketime',
  inspect: inspectProgram({ args: ['--version'], minimum: '0.9.7' }),
  find: [findInPath('faketime')],
  install: [aptInstall({ packages: ['faketime'], candidates: (_tool, { env }) => programsInPath(['faketime'], env) })],
  byHand: (platform) => (platform === 'darwin' ? 'brew install libfaketime' : 'apt-get install faketime'),
};
