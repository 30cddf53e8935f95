// `npm run docs`: writes the docs that are made of code, docs/configuration.md and the chart's VALUES.md. Tests
// hold both against the code.
import { writeFile } from 'node:fs/promises';
import { configurationPage } from './configuration-page.ts';

await writeFile(new URL('../../docs/configuration.md', import.meta.url), configurationPage());
await import('../chart/readme.ts');
