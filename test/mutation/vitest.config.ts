import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * The fast tests, and those of validation, which need no server either: on the copy of the code that is mutated, for through the
 * workspace link they would find the original.
 */
export default defineConfig({
  root,
  resolve: { alias: { '@webcapture/shared': `${root}services/shared` } },
  test: {
    include: ['test/unit/**/*.test.ts', 'test/integration/front/validation/*.test.ts'],
    globalSetup: 'test/harness/global-setup.ts',
  },
});
