// `npm run test:mutation`: changes the code that decides, one mutation at a time, and tells which changes no fast test notices.
//   npm run test:mutation -- services/shared/captures/transitions.ts    mutates these files only
import process from 'node:process';
import { Stryker } from '@stryker-mutator/core';

/** Files that decide from their input alone, each with a table of tests. */
const decisions = [
  'services/controller/health/{decider,renderers,scale,verdict}.ts',
  'services/controller/jobs/orphans/decide-file.ts',
  'services/controller/jobs/webhooks/event.ts',
  'services/controller/kubernetes/{deletion-costs,region-status}.ts',
  'services/front/capture/{regions,render-options}.ts',
  'services/front/http/load-shedding.ts',
  'services/front/validation/explain-errors.ts',
  'services/shared/accounts/limits.ts',
  'services/shared/captures/{transitions,usage,uuid,view}.ts',
  'services/shared/egress/policy.ts',
  'services/shared/queue/{results,tasks}.ts',
  'services/shared/runtime/{env,regions}.ts',
];

const files = process.argv.slice(2);
const stryker = new Stryker({
  mutate: files.length > 0 ? files : decisions,
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutation/vitest.config.ts' },
  // Its reader of tsconfig.json needs the API that TypeScript had before version 7, and there is nothing in it that it needs.
  tsconfigFile: 'none',
  // Nothing checks types here, and its comment at the top of every file fails the tests of generated ones.
  disableTypeChecks: false,
  tempDirName: '.cache/stryker',
  reporters: ['clear-text'],
  clearTextReporter: { logTests: false, reportTests: false },
  concurrency: 2,
});
await stryker.runMutationTest();
