import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** What `npm run test:contract` runs: tools of other languages against a real front. They take minutes, and packages of their own. */
export default defineConfig({
  root: fileURLToPath(new URL('../../', import.meta.url)),
  test: {
    include: ['test/contract/*.test.ts'],
    globalSetup: 'test/harness/global-setup.ts',
    testTimeout: 60 * 60_000,
    hookTimeout: 300_000,
    isolate: false,
    fileParallelism: false,
    environment: './test/harness/environment.ts',
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
});
