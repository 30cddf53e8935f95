import process from 'node:process';
import { ensureDashboard } from './ensure-dashboard.ts';

/** `npm run dashboard`: builds the dashboard if its sources have changed since the last build. */
await ensureDashboard({ log: (line) => process.stdout.write(`${line}\n`) });
