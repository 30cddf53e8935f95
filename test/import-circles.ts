import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import process from 'node:process';

/**
 * `npm run check`: within a service no file, and no folder, imports one that imports it back, directly or by way of others.
 * Imports of types count: what needs another's types cannot be understood without it. (Lint sees circles of values between
 * files only.) Files that lie beside `main.ts` stand for themselves.
 */

const servicesFolder = resolve(import.meta.dirname, '../services');

/** What each file or folder imports, with one import as an example of why. */
type Graph = Map<string, Map<string, string>>;

const problems = readdirSync(servicesFolder).flatMap((service) => {
  const folder = join(servicesFolder, service);
  const files = importsOfFiles(folder);
  const fileCircles = circlesOf(files).map((circle) => ({ kind: 'files', circle }));
  const folderCircles = circlesOf(importsOfFolders(files, folder)).map((circle) => ({ kind: 'folders', circle }));
  return [...fileCircles, ...folderCircles].map(
    ({ kind, circle }) => `services/${service}: circle of ${kind}\n${circle.join('\n')}`,
  );
});
process.stdout.write(problems.map((problem) => `${problem}\n`).join(''));
process.exitCode = problems.length === 0 ? 0 : 1;

function importsOfFiles(folder: string): Graph {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = all
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('node_modules'))
    .map((name) => join(folder, name));
  return new Map(
    files.map((file) => {
      const found = readFileSync(file, 'utf8').matchAll(
        /^(?:import|export)\b[^;'"]*?\bfrom '([^']+)'|\bimport\('([^']+)'\)/gm,
      );
      const imported = [...found].flatMap(([, from, called]) => pathOf(from ?? called ?? '', file) ?? []);
      return [file, new Map(imported.map((path) => [path, `  ${short(file)} imports ${short(path)}`]))];
    }),
  );
}

/** Undefined where it leads out of the sources. */
function pathOf(specifier: string, importer: string): string | undefined {
  if (specifier.startsWith('.')) return resolve(dirname(importer), specifier);
  const [, inShared] = /^@webcapture\/shared\/(.+)$/.exec(specifier) ?? [];
  return inShared === undefined ? undefined : join(servicesFolder, 'shared', inShared);
}

function importsOfFolders(files: Graph, root: string): Graph {
  const folderOf = (file: string) => (dirname(file) === root ? file : dirname(file));
  const folders: Graph = new Map();
  for (const [file, imported] of files) {
    const from = folderOf(file);
    const targets = folders.get(from) ?? new Map<string, string>();
    folders.set(from, targets);
    for (const [path, why] of imported) {
      const to = folderOf(path);
      if (to !== from && !targets.has(to)) targets.set(to, why);
    }
  }
  return folders;
}

/** For each group of nodes that can reach each other, the imports of a shortest circle in it. */
function circlesOf(graph: Graph): string[][] {
  const circles: string[][] = [];
  const reported = new Set<string>();
  for (const node of graph.keys()) {
    if (reported.has(node)) continue;
    const circle = circleThrough(node, graph);
    if (circle === undefined) continue;
    circle.forEach(({ from }) => reported.add(from));
    circles.push(circle.map(({ why }) => why));
  }
  return circles;
}

function circleThrough(start: string, graph: Graph): { from: string; why: string }[] | undefined {
  const cameBy = new Map<string, { from: string; why: string }>();
  const queue = [start];
  for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
    for (const [to, why] of graph.get(node) ?? []) {
      if (cameBy.has(to)) continue;
      cameBy.set(to, { from: node, why });
      if (to !== start) queue.push(to);
    }
  }
  const circle: { from: string; why: string }[] = [];
  for (let step = cameBy.get(start); step !== undefined; step = cameBy.get(step.from)) {
    circle.unshift(step);
    if (step.from === start) return circle;
  }
  return undefined;
}

function short(path: string): string {
  return relative(resolve(servicesFolder, '..'), path);
}
