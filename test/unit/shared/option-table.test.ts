import { expect, test } from 'vitest';
import { captureOptions } from '../../../services/cli/capture/options.ts';
import { groupFields } from '../../../services/dashboard/pages/playground/schema.ts';
import { captureRequestSchema } from '../../../services/shared/api/capture-request.ts';
import { fieldAt, type JsonSchema } from '../../../services/shared/api/describe-schema.ts';
import { linkRefusals, optionGroups, optionNames, optionTable } from '../../../services/shared/api/option-table.ts';

const schema = captureRequestSchema as unknown as JsonSchema;

test('the form of the dashboard and the help of the command line have the groups of the table', () => {
  const groups = optionGroups.map(({ title, options }) => [title, options]);
  const form = groupFields(schema, optionGroups).map(({ title, fields }) => [title, fields.map(([name]) => name)]);
  expect(form).toEqual(groups);
  const help = Map.groupBy(captureOptions, ({ group }) => group);
  expect([...help].map(([title, options]) => [title, [...new Set(options.map(({ path }) => path[0]))]])).toEqual(
    groups,
  );
  expect(optionNames.filter((name) => optionTable[name].group === null)).toEqual(['url', 'html', 'responseType']);
});

test('every rule of the table refers to an option of the schema and to possible values of the option', () => {
  const rules = optionNames.flatMap((name) => {
    const { needs = [], excludes = [] } = optionTable[name];
    return [...needs, ...excludes.map((option) => ({ option, values: undefined }))];
  });
  expect(rules.length).toBeGreaterThan(10);
  for (const { option, values = [] } of rules) {
    const field = fieldAt(schema, [option]);
    expect(field, option).toBeDefined();
    for (const value of values) expect(field?.type === 'boolean' ? [true, false] : field?.enum).toContain(value);
  }
});

test('a signed link can have no option whose schema is writeOnly', () => {
  const secrets = optionNames.filter((name) => fieldAt(schema, [name])?.writeOnly === true);
  expect(optionNames.filter((name) => optionTable[name].kind === 'secret')).toEqual(secrets);
  expect([...linkRefusals.keys()]).toEqual(expect.arrayContaining([...secrets, 'pdf.encryption']));
});
