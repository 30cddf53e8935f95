import { compileFilters } from './compile.ts';

/** `node deploy/filters/cli.ts <folder>`: compiles filter lists into the folder. */
const [outDir] = process.argv.slice(2);
if (outDir === undefined) {
  process.stderr.write(
    'Usage: node deploy/filters/cli.ts <folder>  (lists of your own: WEBCAPTURE_FILTER_LISTS_DIR)\n',
  );
  process.exitCode = 2;
} else {
  await compileFilters({
    outDir,
    listsDir: process.env['WEBCAPTURE_FILTER_LISTS_DIR'] || undefined,
    log: (line) => process.stdout.write(`${line}\n`),
  });
}
