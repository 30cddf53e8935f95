import process from 'node:process';
import type { Environment } from 'vitest/runtime';
import { endWorkerWide } from './worker-wide.ts';

/** That of Node, set up once in a worker; at its end it ends what the files of the worker shared. */
export default {
  name: 'worker-wide',
  viteEnvironment: 'ssr',
  setup: () => {
    // Node strips types in place: stacks are right without source maps, which cost time with each Error that is made.
    process.setSourceMapsEnabled(false);
    return { teardown: endWorkerWide };
  },
} satisfies Environment;
