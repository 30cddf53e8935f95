import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const services = join(import.meta.dirname, '../../../services');

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Returns the packages that an image installs: its services, and their packages except those for development. */
const installedFor = (names: readonly string[]) =>
  new Set(
    names.flatMap((name) => {
      const { dependencies = {} } = JSON.parse(readFileSync(join(services, name, 'package.json'), 'utf8')) as Manifest;
      return [`@webcapture/${name}`, ...Object.keys(dependencies)];
    }),
  );

/** Returns the packages that a file imports when it runs: `import type` is removed. */
function packagesOf(source: string): string[] {
  const imports = source.matchAll(
    /^(?:import|export) (?!type )[^;]*?from '([^'.][^']*)'|^import '([^'.][^']*)'|\bimport\('([^'.][^']*)'\)/gm,
  );
  const names = [...imports].map(([, from, plain, dynamic]) => from ?? plain ?? dynamic ?? '');
  return names.filter((name) => !isBuiltin(name)).map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? '');
}

test.each([
  ['front', ['shared', 'front', 'controller']],
  ['renderer', ['shared', 'renderer']],
])('the image %s installs every package that its services import', (_image, names) => {
  const installed = installedFor(names);
  const missing = names.flatMap((name) =>
    globSync('**/*.ts', { cwd: join(services, name), exclude: ['node_modules/**'] }).flatMap((file) =>
      packagesOf(readFileSync(join(services, name, file), 'utf8'))
        .filter((each) => !installed.has(each))
        .map((each) => `${name}/${file}: ${each}`),
    ),
  );
  expect(missing).toEqual([]);
  expect(installed.has('pino')).toBe(true);
});
