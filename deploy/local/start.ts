import { fileURLToPath } from 'node:url';
import { help } from './help.ts';
import { wantsColors } from './log-format.ts';
import { run } from './run.ts';

/** `npm start`: runs the whole service on this machine. */
const args = process.argv.slice(2);
const argument = args.find((it) => it !== '--watch');
if (argument !== undefined) {
  const isHelp = argument === '--help' || argument === '-h';
  const unknown = `npm start takes no argument ${argument}: it is configured by environment variables.\n`;
  (isHelp ? process.stdout : process.stderr).write(`${isHelp ? '' : unknown}${help()}`);
  process.exit(isHelp ? 0 : 1);
}
const code = await run({
  env: process.env,
  root: fileURLToPath(new URL('../..', import.meta.url)),
  print: (text) => process.stdout.write(`${text}\n`),
  colors: wantsColors(process.stdout, process.env),
  watch: args.includes('--watch'),
});
process.exit(code);
