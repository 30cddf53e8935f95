// `npm run docs`: writes what is made of code: docs/configuration.md, the chart's VALUES.md, and the list of devices. Tests hold them
// against what they are made of.
import { writeFile } from 'node:fs/promises';
import { configurationPage } from './configuration-page.ts';
import { deviceListModule } from './device-list.ts';

await writeFile(new URL('../../docs/configuration.md', import.meta.url), configurationPage());
await writeFile(new URL('../../services/shared/api/device-list.ts', import.meta.url), deviceListModule());
await import('../chart/readme.ts');
