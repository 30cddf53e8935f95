// @module-tag long
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { version } from '@webcapture/shared/runtime/run-service.ts';
import { pinImages } from '../../../deploy/release/pin-images.ts';
import { readVersions, writeVersion } from '../../../deploy/release/versions.ts';
import { chartFolder, helm, helmDeadlineMs } from '../../harness/helm.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string, folder = root) => readFile(join(folder, file), 'utf8');

const services = ['cli', 'client', 'controller', 'dashboard', 'front', 'renderer', 'shared'];

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
        'deploy/compose/compose.yaml',
        'deploy/compose/.env.example',
        'deploy/docker/Dockerfile',
        'deploy/docker/docker-bake.json',
      ]),
    );
  });

  test('changes in all files, and nothing else changes', async () => {
    const folder = await mkdtemp(join(inject('tempFolder'), 'release-'));
    const files = [...new Set((await readVersions(root)).map(({ file }) => file)), 'CHANGELOG.md'];
    await Promise.all(files.map((file) => cp(join(root, file), join(folder, file))));
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
    const folder = await mkdtemp(join(inject('tempFolder'), 'release-'));
    const files = [...new Set((await readVersions(root)).map(({ file }) => file)), 'CHANGELOG.md'];
    await Promise.all(files.map((file) => cp(join(root, file), join(folder, file))));
    await writeFile(join(folder, 'charts/webcapture/README.md'), 'no image here\n');
    await expect(writeVersion(folder, '9.8.7', '2026-12-01')).rejects.toThrow(/README\.md has no version/);
    expect(await read('package.json', folder)).toBe(await read('package.json'));
  });
});

const digestOf = (letter: string) => `sha256:${letter.repeat(64)}`;

describe('the chart of a release', () => {
  const metadata = JSON.stringify({
    front: { 'containerimage.digest': digestOf('a'), 'image.name': 'registry.test/webcapture/front:0' },
    renderer: { 'containerimage.digest': digestOf('b') },
  });

  test(
    'installs the images built with it, by digest and without setting a registry',
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
    helmDeadlineMs,
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
    expect(whole.tags).toEqual([`\${REGISTRY}/${repository}:\${VERSION}`]);
    expect(whole.platforms).toEqual(['linux/amd64', 'linux/arm64']);
    expect(whole.attest).toEqual(['type=sbom', 'type=provenance,mode=max']);
    expect(await read(whole.dockerfile ?? '')).toMatch(new RegExp(`^FROM scratch AS ${whole.target}$`, 'm'));
  }
});

interface Workflow {
  readonly permissions: object;
  readonly jobs: Readonly<
    Record<
      string,
      { readonly permissions?: object; readonly uses?: string; readonly needs?: string; readonly env?: object }
    >
  >;
}

/** A workflow with one job per row, which is a command of package.json. */
interface NightlyWorkflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly jobs: {
    readonly nightly: {
      readonly strategy: { readonly matrix: { readonly include: readonly { readonly command: string }[] } };
    };
  };
}

describe('the workflows', () => {
  const workflows = ['ci', 'release', 'nightly'].map((name) => `.github/workflows/${name}.yml`);

  test('use only actions and images that cannot be replaced under the same name', async () => {
    for (const file of workflows) {
      for (const [, used = ''] of (await read(file)).matchAll(/uses: (.*)$/gm)) {
        expect(used).toMatch(/^[\w-]+\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+$|^\.\//);
      }
    }
  });

  test('have read access; only the job that publishes has more, and runs after the tests', async () => {
    const texts = await Promise.all(workflows.map((file) => read(file)));
    const [ci, release, nightly] = texts.map((it) => parse(it) as Workflow);
    for (const workflow of [ci, release, nightly]) expect(workflow?.permissions).toEqual({ contents: 'read' });
    const unprivileged = [ci, nightly].flatMap((workflow) => Object.values(workflow?.jobs ?? {}));
    expect(unprivileged.filter((job) => 'permissions' in job)).toEqual([]);
    expect(release?.jobs['test']).toEqual({ uses: './.github/workflows/ci.yml' });
    expect(release?.jobs['publish']).toMatchObject({
      needs: 'test',
      permissions: { contents: 'read', packages: 'write', 'id-token': 'write' },
    });
    expect(await read(workflows[0] ?? '')).toContain('run: .ci/run\n');
  });

  test('leave no token in the checkout', async () => {
    for (const file of workflows) {
      const text = await read(file);
      const checkouts = text.match(/uses: actions\/checkout@/g) ?? [];
      expect(text.match(/with: \{ persist-credentials: false \}/g) ?? [], file).toHaveLength(checkouts.length);
    }
  });

  test('run commands of package.json each night, including mutation tests of both groups', async () => {
    const { on, jobs } = parse(await read('.github/workflows/nightly.yml')) as NightlyWorkflow;
    expect(Object.keys(on)).toEqual(['schedule', 'workflow_dispatch']);
    const commands = jobs.nightly.strategy.matrix.include.map(({ command }) => command);
    const { scripts } = JSON.parse(await read('package.json')) as { scripts: Readonly<Record<string, string>> };
    expect(commands.filter((command) => scripts[command.split(' ')[0] ?? ''] === undefined)).toEqual([]);
    for (const group of ['unit', 'page']) {
      expect(commands).toContainEqual(expect.stringMatching(`^test:mutation -- --group ${group}( |$)`));
    }
    expect(await read('.github/workflows/nightly.yml')).toContain('run: npm run ${{ matrix.command }}\n');
  });

  test('require the audit of packages for a release', async () => {
    const ci = parse(await read('.github/workflows/ci.yml')) as Workflow;
    expect(ci.jobs['test']?.env).toEqual({ REQUIRE_AUDIT: "${{ github.ref_type == 'tag' }}" });
  });
});
