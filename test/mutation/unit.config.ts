import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { testsLeftOut } from './groups.ts';
import { sandboxAliases, testLimits } from './sandbox.ts';

/** Unit tests and the tests of validation, which start no server. */
export default defineConfig({
  root: fileURLToPath(new URL('../../', import.meta.url)),
  resolve: { alias: sandboxAliases },
  test: {
    ...testLimits,
    include: ['test/unit/**/*.test.ts', 'test/integration/front/validation/*.test.ts'],
    exclude: testsLeftOut,
    globalSetup: 'test/harness/global-setup.ts',
    isolate: false,
  },
});
