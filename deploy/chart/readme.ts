// node deploy/chart/readme.ts: writes the table of values into the chart's VALUES.md. A test compares the two.
import { readFile, writeFile } from 'node:fs/promises';
import { withValuesTable } from './with-values-table.ts';

const chart = new URL('../../charts/webcapture/', import.meta.url);
const page = new URL('VALUES.md', chart);
const values = await readFile(new URL('values.yaml', chart), 'utf8');
await writeFile(page, withValuesTable(await readFile(page, 'utf8'), values));
