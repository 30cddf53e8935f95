import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';

/** Files that every test depends on. */
const everything =
  /^(package(-lock)?\.json|vitest\.config\.ts|test\/harness\/(global-setup|environment|sequencer|tools)\.ts)$/;

/** The folders or files of the repository that a module starts or builds without importing them. */
const started: Readonly<Record<string, readonly string[]>> = {
  'test/harness/service-process.ts': [
    'services/front/main.ts',
    'services/renderer/main.ts',
    'services/controller/main.ts',
    'deploy/local/guard.mjs',
  ],
  'test/harness/helm.ts': ['charts/webcapture'],
  'test/harness/chart-files.ts': ['charts/webcapture/files'],
  'test/harness/dashboard.ts': ['services/dashboard'],
  'test/integration/front/dashboard.test.ts': ['services/dashboard'],
  'test/integration/cli/command.ts': ['services/cli/main.ts'],
};

/** The code of services reads no files of the repository. It only mentions docs. */
const readsFiles = (path: string) => !path.startsWith('services/');

const isSource = (path: string) => /\.(?:tsx?|mts|mjs)$/.test(path);

/** Returns the paths that differ from the commit `since` (by default the last commit), including untracked files, relative to `root`. */
export async function changedFiles(root: string, since = 'HEAD'): Promise<string[]> {
  const git = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)('git', args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
    return stdout.split('\n').filter((line) => line !== '');
  };
  const [tracked, untracked] = await Promise.all([
    git('diff', '--name-only', since, '--'),
    git('ls-files', '--others', '--exclude-standard'),
  ]);
  return [...tracked, ...untracked];
}

/**
 * Returns those files of `tests` that a change of the files `changed` can break. A test can break in three cases: it imports a changed
 * file, directly or through other modules; it starts a process or renders a chart that contains one; or its modules mention a changed file
 * that is not a module, or the folder of such a file. All paths are relative to `root`.
 */
export async function affectedTests(
  root: string,
  tests: Iterable<string>,
  changed: readonly string[],
): Promise<string[]> {
  if (changed.some((path) => everything.test(path))) return [...tests];
  const modules = await readModules(root);
  const others = changed.filter((path) => !isSource(path));
  const isAffected = new Map<string, boolean>();
  for (const [path, { source }] of modules) {
    const startedHere = started[path] ?? [];
    const starts = changed.some((file) => startedHere.some((part) => file === part || file.startsWith(`${part}/`)));
    if (starts || changed.includes(path) || others.some((file) => readsFiles(path) && names(source, file)))
      isAffected.set(path, true);
  }
  const importers = new Map<string, string[]>();
  for (const [path, { imports }] of modules) {
    for (const to of [...imports, ...(started[path] ?? [])]) importers.set(to, [...(importers.get(to) ?? []), path]);
  }
  // If a module was deleted, the modules that imported it are changed too.
  const queue = [...isAffected.keys(), ...changed];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    for (const importer of importers.get(path) ?? []) {
      if (isAffected.has(importer)) continue;
      isAffected.set(importer, true);
      queue.push(importer);
    }
  }
  return [...tests].filter((path) => isAffected.has(path));
}

/** Whether a module mentions a file that is not a module, or a folder that contains the file. */
function names(source: string, file: string): boolean {
  const parents = file.split('/').slice(0, -1);
  const folders = parents.map((_, depth) => `${parents.slice(0, depth + 1).join('/')}/`);
  // Nearly every test mentions these folders.
  const specific = folders.filter((folder) => !['test/', 'services/', 'deploy/'].includes(folder));
  const code = source.replaceAll(/^ *(?:\/\/|\/?\*).*$/gm, '');
  return code.includes(basename(file)) || specific.some((folder) => namesFolder(code, folder));
}

/** Whether a string in the code ends with the folder, or continues with a variable. A longer string mentions only other files. */
function namesFolder(code: string, folder: string): boolean {
  return ["'", '`', '$', '*'].some(
    (end) => code.includes(`${folder}${end}`) || code.includes(folder.slice(0, -1) + end),
  );
}

interface SourceModule {
  readonly source: string;
  /** Paths relative to the root. */
  readonly imports: readonly string[];
}

async function readModules(root: string): Promise<Map<string, SourceModule>> {
  const modules = new Map<string, SourceModule>();
  const ignored = (name: string) => name === 'node_modules' || name === 'dist';
  for await (const path of glob('{test,services,deploy}/**/*.{ts,tsx,mts,mjs}', { cwd: root, exclude: ignored })) {
    const source = await readFile(join(root, path), 'utf8');
    const found = source.matchAll(/^(?:import|export)\b[^;'"]*?(?:\bfrom )?'([^']+)'|\bimport\('([^']+)'\)/gm);
    const imports = [...found].flatMap(([, from, called]) => resolveImport(root, path, from ?? called ?? '') ?? []);
    modules.set(path, { source, imports });
  }
  return modules;
}

function resolveImport(root: string, importer: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return relative(root, resolve(root, dirname(importer), specifier));
  const [, service = '', rest] = /^@webcapture\/([^/]+)(?:\/(.+))?$/.exec(specifier) ?? [];
  if (service === '') return undefined;
  const path = join('services', service, rest ?? 'index.ts');
  return existsSync(join(root, path)) ? path : undefined;
}
