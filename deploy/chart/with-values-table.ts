import { valuesTable } from './values-table.ts';

const [begin, end] = ['<!-- values -->', '<!-- end of values -->'];

/** The chart's README with the table of its values as values.yaml has them. Throws when it has no place for it. */
export function withValuesTable(readme: string, valuesYaml: string): string {
  const [from, to] = [readme.indexOf(begin), readme.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the README needs the lines ${begin} and ${end}`);
  return `${readme.slice(0, from + begin.length)}\n\n${valuesTable(valuesYaml)}\n\n${readme.slice(to)}`;
}
