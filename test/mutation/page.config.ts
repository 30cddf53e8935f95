import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { pageTestsVariable, sandboxAliases, testLimits } from './sandbox.ts';

/** The browser tests for the renderer's page folder that the environment variable lists. */
export default defineConfig({
  root: fileURLToPath(new URL('../../', import.meta.url)),
  resolve: { alias: sandboxAliases },
  test: {
    ...testLimits,
    include: (process.env[pageTestsVariable] ?? '').split(','),
    globalSetup: 'test/harness/global-setup.ts',
    environment: './test/harness/environment.ts',
    setupFiles: 'test/mutation/page-setup.ts',
    // Test files share one browser, as in `npm test`.
    isolate: false,
  },
});
