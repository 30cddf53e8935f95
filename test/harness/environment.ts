import process from 'node:process';
import type { Environment } from 'vitest/runtime';
import { endWorkerWide } from './worker-wide.ts';

/** The environment of Node, set up once per worker. At its end, it disposes of what the files of the worker shared. */
export default {
  name: 'worker-wide',
  viteEnvironment: 'ssr',
  setup: () => {
    // Source maps are turned off, because they make each Error slower. Stacks are correct without them, because Node strips types in place.
    process.setSourceMapsEnabled(false);
    return { teardown: endWorkerWide };
  },
} satisfies Environment;
