import spectral from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../../deploy/docs/openapi-document.ts';

test('the OpenAPI document keeps all rules of Spectral', async () => {
  const linter = new spectral.Spectral();
  const ruleset = {
    extends: [[rulesets.oas, 'all']],
    // The tags stand in the order in which people need them, and an operator has no address of mail that we know.
    rules: { 'openapi-tags-alphabetical': 'off', 'contact-properties': 'off' },
  };
  // Its types know no ruleset with a mode.
  linter.setRuleset(ruleset as unknown as Parameters<typeof linter.setRuleset>[0]);
  const problems = await linter.run(JSON.stringify(await openApiDocument()));
  expect(problems.map(({ code, path, message }) => `${path.join('.')}: ${message} (${code})`)).toEqual([]);
});
