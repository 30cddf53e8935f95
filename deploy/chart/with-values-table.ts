import { valuesTable } from './values-table.ts';

const [begin, end] = ['<!-- values -->', '<!-- end of values -->'];

/** Returns the page with the table of values from values.yaml. Throws if the page has no place for the table. */
export function withValuesTable(page: string, valuesYaml: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page needs the lines ${begin} and ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${valuesTable(valuesYaml)}\n\n${page.slice(to)}`;
}
