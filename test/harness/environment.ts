import type { Environment } from 'vitest/runtime';
import { endWorkerWide } from './worker-wide.ts';

/** That of Node, set up once in a worker; at its end it ends what the files of the worker shared. */
export default {
  name: 'worker-wide',
  viteEnvironment: 'ssr',
  setup: () => ({ teardown: endWorkerWide }),
} satisfies Environment;
