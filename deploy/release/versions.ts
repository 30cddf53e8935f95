import { glob, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newestRelease } from './changelog.ts';

/**
 * The places of the software version: for each file, a pattern that matches every occurrence of the version. The version of the HTTP
 * interface (`info.version` of the OpenAPI document) is independent of it and is not changed.
 */
const places: Readonly<Record<string, RegExp>> = {
  'package.json': /(?<=^ {2}"version": ")[^"]+/gm,
  'services/*/package.json': /(?<=^ {2}"version": ")[^"]+/gm,
  // Matches the versions of the root package and of the workspaces, but not those of installed packages.
  'package-lock.json':
    /(?<=^ {2}"version": "|^ {4}"(?:services\/[\w-]+)?": \{\n {6}"name": "[^"]+",\n {6}"version": ")[^"]+/gm,
  'charts/webcapture/Chart.yaml': /(?<=^(?:version|appVersion): )\S+/gm,
  'charts/webcapture/README.md': /(?<=^version=)[\w.+-]+/gm,
  'charts/webcapture/examples/{argocd-application,flux-helmrelease}.yaml':
    /(?<=(?:targetRevision: |ref: \{ tag: )v)[\w.+-]+/g,
  'deploy/compose/compose.yaml': /(?<=WEBCAPTURE_IMAGE_TAG:-)[^}]+/g,
  'deploy/compose/.env.example': /(?<=^WEBCAPTURE_IMAGE_TAG=).+/gm,
  'deploy/docker/Dockerfile': /(?<=-t webcapture\/[a-z]+:|image\.version=")[\w.+-]+/g,
  'deploy/docker/docker-bake.json': /(?<="VERSION": \{ "default": ")[^"]+/g,
  'docs/operations.md': /(?<=FROM \S+\/webcapture\/renderer:|^version=)[\w.+-]+/gm,
  '{docs/cli,docs/releases,docs/guides/visual-regression,services/client/README}.md': /(?<=^ *version=)[\w.+-]+/gm,
  // The version of the processes, which occurs in the examples of the OpenAPI document.
  'services/front/api/account-examples.ts': /(?<=\bversion: ')[^']+/g,
};

/** A version in a file, one for each place; `file` is relative to the root. */
export interface WrittenVersion {
  readonly file: string;
  readonly version: string;
}

/** Returns all versions below `root`. Throws if a file contains none, because a release would not update it. */
export async function readVersions(root: string): Promise<readonly WrittenVersion[]> {
  const found = await Promise.all(
    (await files(root)).map(async ({ file, pattern }) => {
      const versions = (await readFile(join(root, file), 'utf8')).match(pattern);
      if (versions === null) throw new Error(`${file} has no version where one is expected: ${pattern.source}`);
      return versions.map((version) => ({ file, version }));
    }),
  );
  return found.flat();
}

/**
 * Returns the reasons why the files below `root` cannot be released as `version`: other versions, no dated section in the changelog, or no
 * row in the table of versions. Without `version`, the first version that is found is used.
 */
export async function versionProblems(root: string, wanted?: string): Promise<readonly string[]> {
  const found = await readVersions(root);
  const version = wanted ?? found[0]?.version ?? '';
  const others = found.filter((each) => each.version !== version);
  const problems = [...new Set(others.map((each) => `${each.file}: ${each.version}, and not ${version}`))];
  const newest = newestRelease(await readFile(join(root, 'CHANGELOG.md'), 'utf8'));
  if (newest?.version !== version) {
    problems.push(`CHANGELOG.md: the newest release is ${newest?.version ?? 'missing'}, and not ${version}`);
  } else if (!/^\d{4}-\d{2}-\d{2}$/.test(newest.date)) {
    problems.push(`CHANGELOG.md: the section of ${version} has no date; write "## [${version}] - YYYY-MM-DD"`);
  }
  const table = await readFile(join(root, 'docs/versions.md'), 'utf8');
  if (!table.split('\n').some((line) => line.startsWith('|') && line.split('|')[1]?.trim() === version)) {
    problems.push(`docs/versions.md: the table has no row for ${version}`);
  }
  return problems;
}

/**
 * Writes `version` to all places below `root`, and adds its heading to the unreleased changes in the changelog; `today` is a
 * date.
 */
export async function writeVersion(root: string, version: string, today: string): Promise<void> {
  await readVersions(root);
  for (const { file, pattern } of await files(root)) {
    await edit(join(root, file), (text) => text.replaceAll(pattern, version));
  }
  await edit(join(root, 'CHANGELOG.md'), (text) =>
    text.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [${version}] - ${today}\n`),
  );
}

async function files(root: string): Promise<{ file: string; pattern: RegExp }[]> {
  const all: { file: string; pattern: RegExp }[] = [];
  for (const [path, pattern] of Object.entries(places)) {
    for await (const file of glob(path, { cwd: root })) all.push({ file, pattern });
  }
  return all;
}

async function edit(path: string, change: (text: string) => string): Promise<void> {
  await writeFile(path, change(await readFile(path, 'utf8')));
}
