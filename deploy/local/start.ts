import { fileURLToPath } from 'node:url';
import { wantsColours } from './log-format.ts';
import { run } from './run.ts';

/** `npm start`: the whole service on this machine. */
const code = await run({
  env: process.env,
  root: fileURLToPath(new URL('../..', import.meta.url)),
  print: (text) => process.stdout.write(`${text}\n`),
  colours: wantsColours(process.stdout, process.env),
});
process.exit(code);
