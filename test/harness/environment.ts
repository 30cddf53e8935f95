import process from 'node:process';
import type { Environment } from 'vitest/runtime';
import { endWorkerWide } from './worker-wide.ts';

/** The environment of Node, set up once per worker. When it ends, it ends what the files of the worker shared. */
export default {
  name: 'worker-wide',
  viteEnvironment: 'ssr',
  setup: () => {
    // Node strips types in place: stacks are correct without source maps, which make each Error slower.
    process.setSourceMapsEnabled(false);
    return { teardown: endWorkerWide };
  },
} satisfies Environment;
