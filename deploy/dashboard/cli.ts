import process from 'node:process';
import { ensureDashboard } from './ensure-dashboard.ts';

/** `npm run dashboard`: builds the dashboard, unless it is built from the sources as they are. */
await ensureDashboard({ log: (line) => process.stdout.write(`${line}\n`) });
