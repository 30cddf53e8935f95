import { execFile } from 'node:child_process';
import { access, glob, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string) => readFile(join(root, file), 'utf8');

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly uses?: string;
  readonly needs?: string | readonly string[];
  readonly if?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly 'timeout-minutes'?: number;
  readonly 'runs-on'?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly strategy?: { readonly matrix: { readonly include?: readonly Readonly<Record<string, string>>[] } };
  readonly steps?: readonly Step[];
}

interface Workflow {
  readonly name: string;
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const texts = new Map<string, string>();
for await (const file of glob('.github/workflows/*.yml', { cwd: root })) {
  texts.set(file.replace(/^.*\/|\.yml$/g, ''), await read(file));
}
const workflows = new Map([...texts].map(([name, text]) => [name, parse(text) as Workflow]));
const jobs = [...workflows].flatMap(([name, workflow]) =>
  Object.entries(workflow.jobs).map(([job, content]) => [`${name}: ${job}`, content] as const),
);

function triggersOf(workflow: string): Workflow['on'] {
  const found = workflows.get(workflow);
  if (found === undefined) throw new Error(`there is no ${workflow}.yml`);
  return found.on;
}

function job(workflow: string, name: string): Job {
  const found = workflows.get(workflow)?.jobs[name];
  if (found === undefined) throw new Error(`${workflow}.yml has no job ${name}`);
  return found;
}

/** Returns the shell scripts of a job in their order. An expression of the matrix is replaced by a command of it. */
function scriptOf({ steps = [], strategy }: Job): string {
  const commands = strategy?.matrix.include?.flatMap(({ command }) => command ?? []) ?? [];
  return steps
    .flatMap(({ run }) => run ?? [])
    .flatMap((run) =>
      run.includes('matrix.command') ? commands.map((command) => run.replace('${{ matrix.command }}', command)) : run,
    )
    .join('\n');
}

test('there is a workflow for changes, for the night, for releases, for images, their rebuild, and CodeQL', () => {
  expect([...workflows.keys()].toSorted()).toEqual(['ci', 'codeql', 'images', 'nightly', 'rebuild', 'release']);
  const triggers = Object.fromEntries([...workflows].map(([name, { on }]) => [name, Object.keys(on)]));
  expect(triggers).toEqual({
    ci: ['push', 'pull_request'],
    codeql: ['push', 'pull_request', 'schedule'],
    images: ['workflow_call'],
    nightly: ['schedule', 'workflow_dispatch'],
    rebuild: ['schedule', 'workflow_dispatch'],
    release: ['push'],
  });
});

describe('each workflow', () => {
  test('uses only actions that cannot be replaced under the same name, and names their versions', () => {
    for (const text of texts.values()) {
      for (const [, used = ''] of text.matchAll(/uses: (.*)$/gm)) {
        expect(used).toMatch(/^[\w-]+\/[\w-]+(?:\/[\w-]+)?@[\da-f]{40} # v\d+\.\d+\.\d+$|^\.\/\.github\/workflows\//);
      }
    }
  });

  test('uses one commit of each action, and one action for each commit', () => {
    const used = [...texts.values()].flatMap((text) => [
      ...text.matchAll(/uses: ([\w-]+\/[\w-]+)[^@\s]*@(\S+) # (\S+)$/gm),
    ]);
    const commits = Map.groupBy(used, ([, action]) => action);
    for (const [action, uses] of commits) {
      expect(new Set(uses.map(([, , commit, version]) => `${commit} ${version}`)).size, action).toBe(1);
    }
    expect(new Set(used.map(([, , commit]) => commit)).size).toBe(commits.size);
  });

  test('gives its token no permission; each job names its own', () => {
    for (const [name, { permissions }] of workflows) expect(permissions, name).toEqual({});
    for (const [name, { permissions }] of jobs) expect(permissions, name).toBeInstanceOf(Object);
  });

  test('ends each job after a time', () => {
    for (const [name, { uses, 'timeout-minutes': minutes }] of jobs) {
      // A job that is a workflow has the timeouts of its jobs, and cannot set others.
      if (uses === undefined) expect(minutes, name).toBeGreaterThan(0);
      else expect(minutes, name).toBeUndefined();
    }
  });

  test('leaves no token in its checkouts', () => {
    for (const [name, { steps = [] }] of jobs) {
      const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
      for (const checkout of checkouts) expect(checkout.with, name).toMatchObject({ 'persist-credentials': false });
    }
  });

  test('waits only for jobs that it has, and reads only their outputs', () => {
    for (const [name, workflow] of workflows) {
      for (const { needs = [] } of Object.values(workflow.jobs)) {
        for (const each of [needs].flat()) expect(Object.keys(workflow.jobs), name).toContain(each);
      }
      for (const [, needed = ''] of (texts.get(name) ?? '').matchAll(/\bneeds\.(\w+)\.outputs\b/g)) {
        expect(workflow.jobs, name).toHaveProperty(needed);
      }
    }
  });

  test('puts no value of an event into a shell script', () => {
    for (const [name, content] of jobs) {
      expect(scriptOf(content).match(/\$\{\{.*\}\}/g) ?? [], name).toEqual([]);
    }
  });

  test('has scripts that bash accepts', async () => {
    for (const [name, content] of jobs) {
      const checked = promisify(execFile)('bash', ['-n', '-c', scriptOf(content)]);
      await expect(checked, name).resolves.toMatchObject({ stderr: '' });
    }
  });

  test('calls commands and files of this repository that exist', async () => {
    const { scripts } = JSON.parse(await read('package.json')) as { scripts: Readonly<Record<string, string>> };
    const script = jobs.map(([, content]) => scriptOf(content)).join('\n');
    const called = [...script.matchAll(/\bnpm (?:run )?(?:--silent )?([\w:]+)/g)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'publish' && name !== 'pack');
    expect(called).toEqual(expect.arrayContaining(['check', 'test', 'test:all', 'sbom', 'release']));
    expect(called.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
    const paths = [...script.matchAll(/(?<=[\s"])(?:\.ci|deploy|services|charts)\/[\w./-]+/g)].map(([path]) => path);
    expect(paths).toEqual(expect.arrayContaining(['.ci/run', 'deploy/kind/up.sh', 'deploy/docker/docker-bake.json']));
    for (const path of paths) await access(join(root, path));
  });
});

describe('permissions to write', () => {
  const writing = jobs.flatMap(([name, { permissions = {} }]) => {
    const names = Object.keys(permissions).filter((key) => permissions[key] === 'write');
    return names.length === 0 ? [] : [[name, names.toSorted()]];
  });

  test('are with the jobs that publish, and with those that report to code scanning', () => {
    expect(Object.fromEntries(writing)).toEqual({
      'codeql: analyze': ['security-events'],
      'images: build': ['packages'],
      'images: publish': ['id-token', 'packages'],
      'images: scan': ['security-events'],
      'rebuild: images': ['id-token', 'packages', 'security-events'],
      'release: images': ['id-token', 'packages', 'security-events'],
      'release: chart': ['id-token', 'packages'],
      'release: npm': ['id-token'],
      'release: github': ['contents'],
    });
  });

  test('of a release are used only after its tests', () => {
    for (const [name, { needs = [] }] of Object.entries(workflows.get('release')?.jobs ?? {})) {
      if (name !== 'test') expect([needs].flat(), name).toContain('test');
    }
  });
});

test('a change runs the check, the fast tier, and the comparison of versions', () => {
  expect(scriptOf(job('ci', 'check'))).toBe('npm run check\nnpm run release -- check');
  expect(scriptOf(job('ci', 'test'))).toContain('npm test');
});

test('the night runs all tests, contract, fuzz, mutation tests, benchmarks and a cluster', () => {
  const lines = scriptOf(job('nightly', 'nightly')).split('\n');
  for (const command of ['test:all', 'test:contract']) expect(lines).toContain(`npm run ${command}`);
  for (const start of [
    'fuzz -- --minutes',
    'test:mutation -- --since',
    'test:mutation -- --group unit',
    'test:mutation -- --group page',
  ]) {
    expect(lines).toContainEqual(expect.stringContaining(`npm run ${start}`));
  }
  // Git history is needed to find the changed files.
  expect(job('nightly', 'nightly').steps?.[0]?.with).toMatchObject({ 'fetch-depth': 0 });
  const bench = job('nightly', 'bench');
  expect(scriptOf(bench)).toContain('npm run bench -- speed');
  expect(bench.steps?.at(-1)?.uses).toMatch(/^actions\/upload-artifact@/);
  expect(scriptOf(job('nightly', 'cluster'))).toMatch(/^deploy\/kind\/up\.sh$[^]* npm run test:cluster$/m);
});

test('a release requires the audit of packages, its version, and both tiers', () => {
  const tests = job('release', 'test');
  expect(tests.env).toEqual({ REQUIRE_AUDIT: 'true' });
  expect(scriptOf(tests)).toMatch(/npm run release -- check "\$\{GITHUB_REF_NAME#v\}"\n[^]*\.ci\/run$/);
  expect(scriptOf(job('release', 'github'))).toContain('services/cli/build.ts');
  expect(job('release', 'npm').if).toBe("vars.NPM_PUBLISH == 'true'");
});

describe('images', () => {
  test('of a release and of a rebuild are built by the same workflow', () => {
    for (const name of ['release', 'rebuild']) {
      const { uses, with: inputs, permissions = {} } = job(name, 'images');
      expect(uses).toBe('./.github/workflows/images.yml');
      const { inputs: known } = triggersOf('images')['workflow_call'] as { inputs: object };
      expect(Object.keys(inputs ?? {})).toEqual(Object.keys(known));
      // A called workflow has at most the permissions of its caller.
      for (const needed of Object.values(workflows.get('images')?.jobs ?? {}).flatMap((it) =>
        Object.entries(it.permissions ?? {}),
      )) {
        expect([needed[1], 'write']).toContain(permissions[needed[0]]);
      }
    }
  });

  test('are built for each architecture on a runner of that architecture, with the date of the day', () => {
    const build = job('images', 'build');
    expect(build.strategy?.matrix.include).toEqual([
      { arch: 'amd64', runner: 'ubuntu-24.04' },
      { arch: 'arm64', runner: 'ubuntu-24.04-arm' },
    ]);
    expect(build['runs-on']).toBe('${{ matrix.runner }}');
    expect(texts.get('images')).not.toContain('qemu');
    expect(scriptOf(job('images', 'names'))).toContain('date=$(date -u +%Y%m%d)');
    expect(build.env?.['BUILD_DATE']).toBe('${{ needs.names.outputs.date }}');
    expect(scriptOf(build)).toContain('docker buildx bake -f deploy/docker/docker-bake.json');
    expect(scriptOf(build)).toContain('--set "*.platform=linux/$ARCH"');
  });

  test('get a tag with the date and one without, and are signed and scanned', () => {
    const publish = job('images', 'publish');
    expect(publish.env?.['BUILD_DATE']).toBe('${{ needs.names.outputs.date }}');
    expect(scriptOf(publish)).toContain('--tag "$name:$VERSION-$BUILD_DATE" --tag "$name:$VERSION"');
    expect(scriptOf(publish)).toContain('cosign sign --yes --recursive "$name@$digest"');
    const scan = job('images', 'scan');
    expect(scan.needs).toContain('publish');
    const image =
      '${{ needs.names.outputs.registry }}/webcapture/${{ matrix.image }}@${{ needs.publish.outputs[matrix.image] }}';
    expect(scan.steps?.find(({ uses }) => uses?.startsWith('anchore/scan-action@'))?.with).toMatchObject({
      image,
      'fail-build': true,
    });
  });

  test('of the newest release are rebuilt each day', async () => {
    expect(triggersOf('rebuild')['schedule']).toEqual([
      { cron: expect.stringMatching(/^\d+ \d+ \* \* \*$/) as unknown },
    ]);
    const script = scriptOf(job('rebuild', 'newest'));
    // Only the part that chooses among the tags is run. The test does not depend on the tags of this repository.
    const choose = script.replace("git tag --list 'v*' --sort=-version:refname", "printf '%s\\n' $TAGS");
    expect(choose).not.toBe(script);
    const output = join(await mkdtemp(join(inject('tempFolder'), 'rebuild-')), 'output');
    const tagOf = async (tags: string) => {
      const env = { ...process.env, TAGS: tags, GITHUB_OUTPUT: output };
      await writeFile(output, '');
      await promisify(execFile)('bash', ['-e', '-o', 'pipefail', '-c', choose], { env });
      return readFile(output, 'utf8');
    };
    expect(await tagOf('v0.3.0-rc.1 v0.2.1 v0.2.0')).toBe('tag=v0.2.1\nversion=0.2.1\n');
    expect(await tagOf('')).toBe('tag=\nversion=\n');
    expect(job('rebuild', 'images').if).toBe("needs.newest.outputs.tag != ''");
  });

  test('install new packages when the date changes', async () => {
    const dockerfile = (await read('deploy/docker/Dockerfile')).replaceAll(/^#.*\n/gm, '');
    // An argument changes the layers after it. Each stage that installs packages declares it before its first command.
    for (const stage of ['layout', 'front-layout', 'renderer-layout']) {
      expect(dockerfile).toMatch(new RegExp(`^FROM .* AS ${stage}\\nARG BUILD_DATE=\\nRUN `, 'm'));
    }
  });
});
