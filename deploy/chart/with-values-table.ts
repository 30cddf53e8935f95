import { valuesTable } from './values-table.ts';

const [begin, end] = ['<!-- values -->', '<!-- end of values -->'];

/** A page with the table of the chart's values as values.yaml has them. Throws when it has no place for it. */
export function withValuesTable(page: string, valuesYaml: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page needs the lines ${begin} and ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${valuesTable(valuesYaml)}\n\n${page.slice(to)}`;
}
