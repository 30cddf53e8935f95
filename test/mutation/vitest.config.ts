import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** The fast tests alone, on the copy of the code that is mutated: through the workspace link they would find the original. */
export default defineConfig({
  resolve: { alias: { '@webcapture/shared': fileURLToPath(new URL('../../services/shared', import.meta.url)) } },
  test: { include: ['test/pure/**/*.test.ts'], globalSetup: 'test/harness/global-setup.ts' },
});
