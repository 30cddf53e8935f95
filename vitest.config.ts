import { defineConfig } from 'vitest/config';

/**
 * Three groups, one after the other: what is quick first, and what kills processes last and by itself, so that no time
 * limit is missed for want of a processor. Most tests wait more than they compute: three or four files at a time suit two
 * cores.
 */
export default defineConfig({
  test: {
    globalSetup: 'test/harness/global-setup.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/unit/**/*.test.ts'], maxWorkers: 4, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: { name: 'corpus', include: ['test/corpus/*.test.ts'], maxWorkers: 4, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'chaos',
          include: ['test/chaos/**/*.test.ts'],
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
