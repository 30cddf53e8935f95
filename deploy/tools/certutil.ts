import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { aptInstall } from './strategies/apt-install.ts';
import { findInPath, programsInPath } from './strategies/find-in-path.ts';
import type { Tool } from './tool.ts';

/** Writes certificate stores for renderers with WEBCAPTURE_CA_BUNDLE. It has no other use. */
export const certutil: Tool = {
  name: 'certutil',
  // certutil has no option that prints its version. With -H, it prints its options and exits with status 1. Any other status means that it
  // does not work.
  inspect: async (path) => {
    const failure = await promisify(execFile)(path, ['-H'], { timeout: 15_000 }).then(
      () => undefined,
      (error: Error & { readonly code?: unknown }) => error,
    );
    if (failure === undefined || failure.code === 1) return 'of NSS';
    throw new Error(`${path} does not run: ${failure.message}`, { cause: failure });
  },
  find: [findInPath('certutil')],
  install: [
    aptInstall({ packages: ['libnss3-tools'], candidates: (_tool, { env }) => programsInPath(['certutil'], env) }),
  ],
  byHand: (platform) => (platform === 'darwin' ? 'brew install nss' : 'apt-get install libnss3-tools'),
};
