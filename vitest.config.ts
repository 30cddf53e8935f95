import { defineConfig } from 'vitest/config';
import { Sequencer } from './test/harness/sequencer.ts';
import { longTag, pageScriptTag } from './test/runner/tiers.ts';

/**
 * Groups of projects run one after the other: unit and integration tests; the corpus, whose workers each capture two pages at a
 * time; whole fleets, and of them last those that kill processes; tools of other languages. Four files at a time suit two cores
 * in the first group, since many tests mostly wait, and three where each file may start a fleet. The sequencer orders the files.
 * End-to-end tests keep files in a bucket, as production does, and chaos tests in the embedded store;
 * WEBCAPTURE_TEST_STORE (gcs or embedded) decides for both.
 */
export default defineConfig({
  test: {
    globalSetup: 'test/harness/global-setup.ts',
    sequence: { sequencer: Sequencer },
    // What is waited for ends with its coming: the limits are for what never comes, also on a machine that stalls for a while.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 150_000 } },
    // Files of a project load the same modules, which keep nothing from one file to the next but what they mean to share.
    isolate: false,
    environment: './test/harness/environment.ts',
    // With --coverage. Code that runs in pages, and in processes that tests start, does not count.
    coverage: { include: ['services/**/*.ts'], exclude: ['**/node_modules/**'], reporter: ['text-summary', 'html'] },
    tags: [
      { name: longTag, description: 'Tests that only `npm run test:all` runs; CONTRIBUTING has the rule.' },
      { name: pageScriptTag, description: 'Tests of the long tier that `npm run test:mutation` runs too.' },
    ],
    // Node runs the sources as it does in production; nothing is mocked that Vite would have to rewrite them for.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/unit/**/*.test.ts'], maxWorkers: 6, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          maxWorkers: 6,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'corpus',
          include: ['test/corpus/*.test.ts'],
          maxConcurrency: 2,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          env: { WEBCAPTURE_TEST_STORE: process.env['WEBCAPTURE_TEST_STORE'] ?? 'gcs' },
          maxWorkers: 4,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: 'kube',
          include: ['test/kube/**/*.test.ts'],
          maxWorkers: 3,
          // Before the first start of a control plane its programs may have to be built.
          hookTimeout: 30 * 60_000,
          sequence: { groupOrder: 3 },
        },
      },
      {
        extends: true,
        test: {
          name: 'chaos',
          include: ['test/chaos/**/*.test.ts'],
          env: { WEBCAPTURE_TEST_STORE: process.env['WEBCAPTURE_TEST_STORE'] ?? 'embedded' },
          maxWorkers: 3,
          sequence: { groupOrder: 3 },
        },
      },
      {
        extends: true,
        test: {
          name: 'contract',
          include: ['test/contract/*.test.ts'],
          // Tools of other languages are installed first, and make thousands of requests.
          testTimeout: 60 * 60_000,
          maxWorkers: 1,
          sequence: { groupOrder: 4 },
        },
      },
      {
        extends: true,
        test: { name: 'fuzz', include: ['test/fuzz/*.test.ts'], maxWorkers: 1, sequence: { groupOrder: 4 } },
      },
    ],
  },
});
