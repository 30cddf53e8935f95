import { fileURLToPath } from 'node:url';
import { longTag, pageScriptTag } from '../runner/tiers.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Tests run in a copy of the repository. Without these aliases, the links in node_modules would lead to the original sources. */
export const sandboxAliases = [
  { find: /^@webcapture\/shared\//, replacement: `${root}services/shared/` },
  { find: /^@webcapture\/client$/, replacement: `${root}services/client/index.ts` },
];

/**
 * The fast tier and the tests of single page scripts, with the limits of vitest.config.ts. A failed test gets a second attempt: if it
 * failed because the machine is slow, it would count as a killed mutant.
 */
export const testLimits = {
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 150_000 } },
  retry: 1,
  tags: [{ name: longTag }, { name: pageScriptTag }],
  tagsFilter: [`!${longTag} || ${pageScriptTag}`],
};

/** Environment variable with the comma-separated test files of page.config.ts. */
export const pageTestsVariable = 'WEBCAPTURE_MUTATION_TESTS';

/** Environment variable with the path of a JSON file that lists the keys of the sampled mutants; see sample-checker.ts. */
export const sampleVariable = 'WEBCAPTURE_MUTATION_SAMPLE';
