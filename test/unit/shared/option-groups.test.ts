import { expect, test } from 'vitest';
import { captureOptions } from '../../../services/cli/capture/options.ts';
import { groupFields } from '../../../services/dashboard/pages/playground/schema.ts';
import { captureRequestSchema } from '../../../services/shared/api/capture-request.ts';
import type { JsonSchema } from '../../../services/shared/api/describe-schema.ts';
import { optionGroups, ungroupedOptions } from '../../../services/shared/api/option-groups.ts';

const schema = captureRequestSchema as unknown as JsonSchema;

test('every option of the schema belongs to exactly one group', () => {
  const grouped = [...ungroupedOptions, ...optionGroups.flatMap(({ options }) => options)];
  expect(grouped.toSorted()).toEqual(Object.keys(captureRequestSchema.properties).toSorted());
});

test('the form of the dashboard and the help of the command line have the same groups', () => {
  const form = groupFields(schema).map(({ title, fields }) => [title, fields.map(([name]) => name)]);
  expect(form).toEqual(optionGroups.map(({ title, options }) => [title, options]));
  const help = Map.groupBy(captureOptions, ({ group }) => group);
  expect([...help].map(([title, options]) => [title, [...new Set(options.map(({ path }) => path[0]))]])).toEqual(form);
});

test('a field that is in no group is in the group "More"', () => {
  const later = { properties: { ...schema.properties, later: { type: 'boolean' } } };
  expect(groupFields(later).at(-1)).toEqual({ title: 'More', fields: [['later', { type: 'boolean' }]] });
});
