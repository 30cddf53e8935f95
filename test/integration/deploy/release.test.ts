import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { version } from '@webcapture/shared/runtime/run-service.ts';
import { releaseNotes } from '../../../deploy/release/changelog.ts';
import { pinImages } from '../../../deploy/release/pin-images.ts';
import { readVersions, versionProblems, writeVersion } from '../../../deploy/release/versions.ts';
import { chartFolder, helm, helmDeadlineMs } from '../../harness/helm.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string, folder = root) => readFile(join(folder, file), 'utf8');

const services = ['cli', 'client', 'controller', 'dashboard', 'front', 'renderer', 'shared'];

/** Copies all files with a version, the changelog and the table of versions to a new folder. */
async function copyOfVersions(): Promise<{ folder: string; files: readonly string[] }> {
  const folder = await mkdtemp(join(inject('tempFolder'), 'release-'));
  const files = [...new Set((await readVersions(root)).map(({ file }) => file)), 'CHANGELOG.md'];
  await Promise.all([...files, 'docs/versions.md'].map((file) => cp(join(root, file), join(folder, file))));
  return { folder, files };
}

describe('the version', () => {
  test('is the same in all files', async () => {
    const found = await readVersions(root);
    expect(found.filter((each) => each.version !== version)).toEqual([]);
    expect(new Set(found.map(({ file }) => file))).toEqual(
      new Set([
        'package.json',
        'package-lock.json',
        ...services.map((service) => `services/${service}/package.json`),
        'charts/webcapture/Chart.yaml',
        'charts/webcapture/README.md',
        'charts/webcapture/examples/argocd-application.yaml',
        'charts/webcapture/examples/flux-helmrelease.yaml',
        'deploy/compose/compose.yaml',
        'deploy/compose/.env.example',
        'deploy/docker/Dockerfile',
        'deploy/docker/docker-bake.json',
        'docs/cli.md',
        'docs/guides/visual-regression.md',
        'docs/operations.md',
        'docs/releases.md',
        'services/client/README.md',
        'services/front/api/account-examples.ts',
      ]),
    );
  });

  test('changes in all files, and nothing else changes', async () => {
    const { folder, files } = await copyOfVersions();
    await writeVersion(folder, '9.8.7-rc.1', '2026-12-01');
    expect(new Set((await readVersions(folder)).map((each) => each.version))).toEqual(new Set(['9.8.7-rc.1']));
    for (const file of files.filter((each) => each !== 'CHANGELOG.md')) {
      const [before, after] = await Promise.all([read(file), read(file, folder)]);
      const undone = after.replaceAll('9.8.7-rc.1', version);
      expect(undone === before, file).toBe(true);
    }
    // A dependency with the same version keeps it.
    const { packages } = JSON.parse(await read('package-lock.json', folder)) as {
      packages: Record<string, { version?: string }>;
    };
    const moved = Object.entries(packages).filter(([, each]) => each.version === '9.8.7-rc.1');
    expect(moved.map(([path]) => path)).toEqual(['', ...services.map((service) => `services/${service}`)]);
    expect(await read('CHANGELOG.md', folder)).toContain('## [Unreleased]\n\n## [9.8.7-rc.1] - 2026-12-01\n');
  });

  test('is changed nowhere if one file does not have it', async () => {
    const { folder } = await copyOfVersions();
    await writeFile(join(folder, 'charts/webcapture/README.md'), 'no image here\n');
    await expect(writeVersion(folder, '9.8.7', '2026-12-01')).rejects.toThrow(/README\.md has no version/);
    expect(await read('package.json', folder)).toBe(await read('package.json'));
  });
});

describe('the check of a release', () => {
  test('passes for this repository', async () => {
    expect(await versionProblems(root)).toEqual([]);
    expect(await versionProblems(root, version)).toEqual([]);
  });

  test('names every file with another version, the changelog and the table of versions', async () => {
    const problems = await versionProblems(root, '9.8.7');
    const files = new Set(problems.map((problem) => problem.split(':')[0]));
    expect(files).toEqual(
      new Set([...(await readVersions(root)).map(({ file }) => file), 'CHANGELOG.md', 'docs/versions.md']),
    );
  });

  test('fails for a release without a row in the table, and passes with it', async () => {
    const { folder } = await copyOfVersions();
    await writeVersion(folder, '9.8.7', '2026-12-01');
    expect(await versionProblems(folder)).toEqual(['docs/versions.md: the table has no row for 9.8.7']);
    await writeFile(join(folder, 'docs/versions.md'), '| 9.8.7 | 9.8.7 |\n');
    expect(await versionProblems(folder)).toEqual([]);
  });

  test.each(['## [9.8.7]', '## [9.8.7] - soon'])('fails for a heading without a date: %s', async (heading) => {
    const { folder } = await copyOfVersions();
    await writeVersion(folder, '9.8.7', '2026-12-01');
    await writeFile(join(folder, 'docs/versions.md'), '| 9.8.7 |\n');
    await writeFile(join(folder, 'CHANGELOG.md'), `## [Unreleased]\n\n${heading}\n\n- x\n`);
    expect(await versionProblems(folder)).toEqual([
      expect.stringMatching(/^CHANGELOG\.md: the section of 9\.8\.7 has no date/),
    ]);
  });
});

test('the notes of a release are its section of the changelog, with links into its tag', () => {
  const changelog = `# Changelog

## [Unreleased]

- later

## [0.3.0] - 2026-12-01

- [Security](docs/security.md#fuzzing), [elsewhere](https://example.com/a)

## [0.2.0] - 2026-11-27

- earlier
`;
  expect(releaseNotes(changelog, 'https://github.com/owner/repo')).toBe(
    '- [Security](https://github.com/owner/repo/blob/v0.3.0/docs/security.md#fuzzing), [elsewhere](https://example.com/a)',
  );
  expect(() => releaseNotes('# Changelog\n\n## [Unreleased]\n', 'https://github.com/owner/repo')).toThrow(
    /no section with a version/,
  );
});

const digestOf = (letter: string) => `sha256:${letter.repeat(64)}`;

describe('the chart of a release', () => {
  const metadata = JSON.stringify({
    front: { 'containerimage.digest': digestOf('a'), 'image.name': 'registry.test/webcapture/front:0' },
    renderer: { 'containerimage.digest': digestOf('b') },
  });

  test(
    'installs the images built with it, by digest and without setting a registry',
    { tags: 'long', timeout: helmDeadlineMs },
    async () => {
      const folder = join(await mkdtemp(join(inject('tempFolder'), 'chart-')), 'webcapture');
      await cp(chartFolder, folder, { recursive: true });
      await pinImages(folder, 'ghcr.io/owner', metadata);
      const manifest = await helm(['template', 'wc', folder, '--kube-version', '1.33.0']);
      const images = [...manifest.matchAll(/image: (\S+\/webcapture\/\S+)/g)].map(([, image]) => image);
      expect(new Set(images)).toEqual(
        new Set([
          `ghcr.io/owner/webcapture/front@${digestOf('a')}`,
          `ghcr.io/owner/webcapture/renderer@${digestOf('b')}`,
        ]),
      );
      const values = await read('values.yaml', folder);
      expect((parse(values) as { image: object }).image).toMatchObject({ registry: 'ghcr.io/owner' });
      // The comments of the values are kept.
      expect(values.match(/# -- /g)).toHaveLength(
        (await read('values.yaml', chartFolder)).match(/# -- /g)?.length ?? 0,
      );
    },
  );

  test('is not built for images that were not pushed', async () => {
    const pushedOne = JSON.stringify({ front: { 'containerimage.digest': digestOf('a') }, renderer: {} });
    await expect(pinImages(chartFolder, 'ghcr.io/owner', pushedOne)).rejects.toThrow(/no digest of the image renderer/);
  });
});

interface BakeFile {
  readonly variable: Readonly<Record<string, { readonly default: string }>>;
  readonly group: { readonly default: { readonly targets: readonly string[] } };
  readonly target: Readonly<Record<string, BakeTarget>>;
}

interface BakeTarget {
  readonly inherits?: readonly string[];
  readonly target?: string;
  readonly dockerfile?: string;
  readonly platforms?: readonly string[];
  readonly attest?: readonly string[];
  readonly tags?: readonly string[];
  readonly args?: Readonly<Record<string, string>>;
}

test('the bake file builds the images of the chart, for both architectures, with SBOM and provenance', async () => {
  const text = await read('deploy/docker/docker-bake.json');
  const { variable, group, target } = JSON.parse(text) as BakeFile;
  expect([...text.matchAll(/\$\{(\w+)\}/g)].filter(([, name = '']) => !Object.hasOwn(variable, name))).toEqual([]);
  const values = parse(await read('values.yaml', chartFolder)) as {
    image: { repository: string };
    renderer: { image: { repository: string } };
  };
  const repositories = { front: values.image.repository, renderer: values.renderer.image.repository };
  expect(group.default.targets).toEqual(Object.keys(repositories));
  for (const [name, repository] of Object.entries(repositories)) {
    const { inherits = [], ...own } = target[name] ?? {};
    const whole: BakeTarget = Object.assign({}, ...inherits.map((each) => target[each]), own);
    const tag = `\${REGISTRY}/${repository}:\${VERSION}`;
    expect(whole.tags).toEqual([tag, `\${equal(BUILD_DATE, "") ? "" : "${tag}-\${BUILD_DATE}"}`]);
    // Without the argument, a builder with a cache would keep the packages of an earlier day.
    expect(whole.args).toEqual({ BUILD_DATE: '${BUILD_DATE}' });
    expect(whole.platforms).toEqual(['linux/amd64', 'linux/arm64']);
    expect(whole.attest).toEqual(['type=sbom', 'type=provenance,mode=max']);
    expect(await read(whole.dockerfile ?? '')).toMatch(new RegExp(`^FROM scratch AS ${whole.target}$`, 'm'));
  }
});
