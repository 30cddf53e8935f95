import { inspectProgram } from './inspect-program.ts';
import { aptInstall } from './strategies/apt-install.ts';
import { findInPath, programsInPath } from './strategies/find-in-path.ts';
import type { Tool } from './tool.ts';

/** A language of the examples in docs/capture-links.md other than Node.js; for tests only. */
const language = (name: string, aptPackage: string, minimum: string): Tool => ({
  name,
  inspect: inspectProgram({ args: ['--version'], minimum }),
  find: [findInPath(name)],
  install: [aptInstall({ packages: [aptPackage], candidates: (_tool, { env }) => programsInPath([name], env) })],
  byHand: (platform) => (platform === 'darwin' ? `brew install ${name}` : `sudo apt-get install -y ${aptPackage}`),
});

export const python = language('python3', 'python3', '3.8');
export const php = language('php', 'php-cli', '7.4');
