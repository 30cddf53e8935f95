// `npm run docs`: writes the docs that are made of code, docs/configuration.md and the values in the chart's README. Tests
// hold both against the code.
import { writeFile } from 'node:fs/promises';
import { configurationPage } from './configuration-page.ts';

await writeFile(new URL('../../docs/configuration.md', import.meta.url), configurationPage());
await import('../chart/readme.ts');
