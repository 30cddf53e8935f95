// `npm run docs`: writes the generated files: docs/configuration.md, docs/thresholds.md, the chart's VALUES.md, the lists of devices and
// of variables, the rules for Prometheus, and the types of the client. Tests compare them with their sources.
import { readFile, writeFile } from 'node:fs/promises';
import { clientTypes } from '../../services/client/tools/types.ts';
import { configurationPage, variableNamesModule } from './configuration-page.ts';
import { deviceListModule } from './device-list.ts';
import { openApiDocument } from './openapi-document.ts';
import { rulesFile } from './prometheus-rules.ts';
import { thresholdsPage } from './thresholds-page.ts';

const write = (path: string, text: string) => writeFile(new URL(`../../${path}`, import.meta.url), text);

await write('docs/configuration.md', configurationPage());
await write('docs/thresholds.md', thresholdsPage());
await write('services/shared/runtime/variable-names.ts', variableNamesModule());
await write('services/shared/api/device-list.ts', deviceListModule());
const alerts = await readFile(new URL('../../charts/webcapture/files/alerts.yaml', import.meta.url), 'utf8');
await write('deploy/monitoring/rules.yaml', rulesFile(alerts));
await write('services/client/openapi.ts', await clientTypes(await openApiDocument()));
await import('../chart/readme.ts');
