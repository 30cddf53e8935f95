// @module-tag long
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, readdir, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import process from 'node:process';
import { parseEnv, promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { controllerVariables, drainMs as controllerDrainMs } from '../../../services/controller/config.ts';
import { drainMsOf, frontVariables, readFrontConfig } from '../../../services/front/config.ts';
import { drainMs as rendererDrainMs, rendererVariables } from '../../../services/renderer/config.ts';
import {
  composeFolder,
  composeText,
  mountsOf,
  readCompose,
  root,
  startProject,
  variablePattern,
} from '../../harness/compose.ts';
import { until } from '../../harness/until.ts';

const text = await composeText();
const example = await readFile(join(composeFolder, '.env.example'), 'utf8');
const defaults = await readCompose();
const services = Object.entries(defaults.services);
const ours = { front: frontVariables, controller: controllerVariables, renderer: rendererVariables };

describe('the variables', () => {
  test('are all in .env.example with their defaults and an explanation, and no others are', async () => {
    const names = [...text.matchAll(variablePattern)].map(([, name]) => name);
    expect(names).toHaveLength(text.match(/\$/g)?.length ?? 0);
    expect(new Set(Object.keys(parseEnv(example)))).toEqual(new Set(names));
    expect(await readCompose(parseEnv(example))).toEqual(defaults);
    const lines = example.split('\n');
    const unexplained = lines.filter((line, index) => /^\w+=/.test(line) && !lines[index - 1]?.startsWith('# '));
    expect(unexplained).toEqual([]);
  });

  test.each(Object.entries(ours))('of the %s are variables of that service', (name, variables) => {
    const ofLibraries = [
      'GOOGLE_APPLICATION_CREDENTIALS',
      'AWS_SHARED_CREDENTIALS_FILE',
      'OTEL_EXPORTER_OTLP_ENDPOINT',
    ];
    const known = [...variables.map((variable) => variable.name), ...ofLibraries];
    const set = Object.entries(defaults.services[name]?.environment ?? {});
    expect(set.filter(([variable]) => !known.includes(variable))).toEqual([]);
    // YAML would turn some values, such as off, into other types.
    expect(set.filter(([, value]) => typeof value !== 'string')).toEqual([]);
  });

  test.each([
    ['WEBCAPTURE_GCS_KEY_FILE', 'GOOGLE_APPLICATION_CREDENTIALS', ['front', 'controller'], 'gcs-key', 'gcs-key.json'],
    [
      'WEBCAPTURE_GCS_RENDERER_KEY_FILE',
      'GOOGLE_APPLICATION_CREDENTIALS',
      ['renderer'],
      'gcs-renderer-key',
      'gcs-key.json',
    ],
    [
      'WEBCAPTURE_S3_CREDENTIALS_FILE',
      'AWS_SHARED_CREDENTIALS_FILE',
      ['front', 'controller'],
      's3-credentials',
      's3-credentials',
    ],
    [
      'WEBCAPTURE_S3_RENDERER_CREDENTIALS_FILE',
      'AWS_SHARED_CREDENTIALS_FILE',
      ['renderer'],
      's3-renderer-credentials',
      's3-credentials',
    ],
  ])('%s sets %s of %j, and only if it is set', async (file, variable, users, secret, target) => {
    const { services: withFile, secrets } = await readCompose({ [file]: './secret' });
    expect(secrets[secret]?.file).toBe('./secret');
    expect(defaults.secrets[secret]?.file).toBe('/dev/null');
    for (const name of Object.keys(ours)) {
      const path = users.includes(name) ? `/run/secrets/${target}` : '';
      expect([name, withFile[name]?.environment?.[variable]]).toEqual([name, path]);
      expect([name, defaults.services[name]?.environment?.[variable]]).toEqual([name, '']);
    }
    for (const name of users) {
      const mounted = withFile[name]?.secrets?.find(({ source }) => source === secret);
      expect(mounted?.target).toBe(target);
    }
  });

  test('of the guide exist', async () => {
    const guide = await readFile(join(root, 'docs/docker.md'), 'utf8');
    const known = [...Object.keys(parseEnv(example)), ...frontVariables.map(({ name }) => name)];
    expect([...guide.matchAll(/WEBCAPTURE_\w+/g)].filter(([name]) => !known.includes(name))).toEqual([]);
  });
});

describe.each(services)('the service %s', (name, service) => {
  test('has only keys of Compose that are meant', () => {
    const keys =
      'build cap_drop command depends_on environment healthcheck image logging mem_limit network_mode networks ports read_only restart secrets security_opt shm_size stop_grace_period tmpfs user volumes';
    expect(Object.keys(service).filter((key) => !keys.split(' ').includes(key))).toEqual([]);
  });

  test('has no rights that it does not need', () => {
    expect(service).toMatchObject({ user: '10001:10001', read_only: true, cap_drop: ['ALL'] });
    expect(service.security_opt[0]).toBe('no-new-privileges:true');
    expect(service.tmpfs).toEqual([expect.stringMatching(/^\/tmp:size=\d+[mg]$/)]);
  });

  test('is checked, limited and restarted, unless it only prepares', () => {
    const isShort = name === 'prepare';
    expect(service.restart).toBe(isShort ? 'no' : 'unless-stopped');
    expect(service.healthcheck === undefined).toBe(isShort);
    expect(service.mem_limit === undefined).toBe(isShort);
    const port = service.environment?.['WEBCAPTURE_OPS_PORT'];
    if (port !== undefined) expect(service.healthcheck?.test.at(-1)).toContain(`http://127.0.0.1:${port}/readyz`);
  });

  test('mounts what exists, and of the secrets only its own', async () => {
    const mounts = mountsOf(service);
    for (const { type, source, target } of mounts) {
      if (type === 'volume') {
        expect(defaults.volumes).toHaveProperty(source);
      } else {
        await access(resolve(composeFolder, source));
        const [, path] = /^\/opt\/webcapture\/(.*)$/.exec(target) ?? [];
        if (path !== undefined) expect(relative(root, resolve(composeFolder, source))).toBe(path);
      }
    }
    if (name === 'prepare') return;
    const secrets = mounts.filter(({ source }) => source.endsWith('-secrets'));
    expect(secrets).toEqual([expect.objectContaining({ source: `${name}-secrets`, target: '/run/webcapture' })]);
    expect(mounts.filter(({ read_only, source }) => read_only !== true && source !== 'data')).toEqual([]);
    // Only prepare gives a new volume its mode.
    expect(mounts.filter(({ type, volume }) => type === 'volume' && volume?.nocopy !== true)).toEqual([]);
    for (const { source } of service.secrets ?? []) expect(defaults.secrets).toHaveProperty(source);
    for (const network of service.networks ?? []) expect(defaults.networks).toHaveProperty(network);
    for (const other of Object.keys(service.depends_on ?? {})) expect(defaults.services).toHaveProperty(other);
    expect(service.depends_on?.['prepare']).toEqual({ condition: 'service_completed_successfully' });
  });
});

test('prepare mounts each volume at a folder of the image that every user may write to', async () => {
  const mounts = mountsOf(defaults.services['prepare'] ?? expect.fail('no service prepare'));
  const volumes = mounts.filter(({ type }) => type === 'volume');
  expect(volumes.map(({ source }) => source)).toEqual(Object.keys(defaults.volumes));
  const script = await readFile(join(root, 'deploy/docker/rootfs.sh'), 'utf8');
  const [, parent, names] = /install -d -m 1777 (\S+)\/\{(\S+)\}/.exec(script) ?? [];
  expect(volumes.map(({ target }) => target)).toEqual(names?.split(',').map((name) => `/${parent}/${name}`));
});

test('only the front has a port, on loopback, and NATS is on a network without internet', () => {
  expect(services.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)).toEqual(['front']);
  expect(defaults.services['front']?.ports).toEqual(['127.0.0.1:3000:3000']);
  expect(defaults.services['nats']?.networks).toEqual(['nats']);
  expect(defaults.networks['nats']).toEqual({ internal: true });
  expect(defaults.services['prepare']?.network_mode).toBe('none');
});

test('the images and the profile of the renderer are those of the chart', async () => {
  interface Image {
    readonly registry: string;
    readonly repository: string;
    readonly tag: string;
  }
  const values = parse(await readFile(join(root, 'charts/webcapture/values.yaml'), 'utf8')) as {
    image: Image;
    renderer: { image: Image };
    nats: { image: Image };
  };
  const front = `localhost/${values.image.repository}:`;
  const { registry, repository, tag } = values.nats.image;
  for (const name of ['prepare', 'front', 'controller']) expect(defaults.services[name]?.image).toContain(front);
  expect(defaults.services['renderer']?.image).toContain(`localhost/${values.renderer.image.repository}:`);
  expect(defaults.services['nats']?.image).toBe(`${registry}/${repository}:${tag}`);
  // Without an engine, no other test shows that an image is never built.
  const dockerfile = await readFile(join(root, 'deploy/docker/Dockerfile'), 'utf8');
  for (const name of ['front', 'renderer']) {
    const build = defaults.services[name]?.build;
    expect(resolve(composeFolder, build?.context ?? '')).toBe(resolve(root));
    expect(build).toMatchObject({ dockerfile: 'deploy/docker/Dockerfile', target: name });
    expect(dockerfile).toMatch(new RegExp(`^FROM scratch AS ${name}$`, 'm'));
  }
  const [, profile = ''] = defaults.services['renderer']?.security_opt[1]?.split('seccomp=') ?? [];
  expect(relative(root, resolve(composeFolder, profile))).toBe('charts/webcapture/files/seccomp/chromium.json');
});

test('services have the time to drain', () => {
  const graceMs = (name: string) => Number.parseInt(defaults.services[name]?.stop_grace_period ?? '') * 1000;
  expect(graceMs('front')).toBeGreaterThan(drainMsOf(readFrontConfig({})));
  expect(graceMs('renderer')).toBeGreaterThan(rendererDrainMs);
  expect(graceMs('controller')).toBeGreaterThan(controllerDrainMs);
});

test('starts, captures, and keeps secrets and data over a second start', async () => {
  const folder = await mkdtemp(join(inject('tempFolder'), 'compose-'));
  let key: string;
  {
    await using project = await startProject(folder, inject('tools'));
    await until('GET /status to report operational', async () => (await fetch(`${project.url}/status`)).ok);
    const { WEBCAPTURE_ADMIN_TOKEN: admin = '' } = parseEnv(
      (await secretsOf(folder))['front-secrets/secrets.env'] ?? '',
    );
    const account = await post(`${project.url}/admin/accounts`, admin, { name: 'First account' });
    const { id } = (await readData(account)) as { id: string };
    const made = await post(`${project.url}/admin/keys`, admin, { accountId: id, name: 'First key' });
    key = ((await readData(made)) as { key: string }).key;
    expect(await capture(project.url, key)).toBe('89504e47');
    expect(project.logs()).not.toContain('Violation');
  }
  const secrets = await secretsOf(folder);
  expect(Object.keys(secrets)).toHaveLength(5);
  {
    await using project = await startProject(folder, inject('tools'));
    expect(await secretsOf(folder)).toEqual(secrets);
    await until('a capture with the key of before', async () => (await capture(project.url, key)) === '89504e47');
  }
});

test('the commands of the guide replace the admin token and the passwords of NATS, and rotate the key for secrets', async () => {
  const folder = await mkdtemp(join(inject('tempFolder'), 'compose-secrets-'));
  await Promise.all(['nats', 'front', 'controller', 'renderer'].map((service) => mkdir(join(folder, service))));
  // In place of the containers: programs of this machine in the folder of the volumes, and only the service `prepare`.
  const docker = `docker() {
    case "$2" in
      run) local program=$6; shift 7; "$program" "\${@//$VOLUMES/$FOLDER}" ;;
      up) ${process.execPath} ${composeFolder}/prepare.ts "$FOLDER" ;;
    esac
  }`;
  const follow = async (commands: string) => {
    const env = {
      PATH: process.env['PATH'],
      FOLDER: folder,
      VOLUMES: '/var/lib/webcapture',
      WEBCAPTURE_REGION: 'us-east',
    };
    await promisify(execFile)('bash', ['--norc', '-euc', `${docker}\n${commands}`], { env });
    const read = async (file: string) => parseEnv(await readFile(join(folder, file), 'utf8'));
    const names = ['nats/passwords.env', 'front/secrets.env', 'controller/secrets.env', 'renderer/secrets.env'];
    const [nats = {}, front = {}, controller = {}, renderer = {}] = await Promise.all(names.map(read));
    expect(front['WEBCAPTURE_NATS_PASSWORD']).toBe(nats['front']);
    expect(controller['WEBCAPTURE_NATS_PASSWORD']).toBe(nats['controller']);
    expect(renderer['WEBCAPTURE_NATS_PASSWORD']).toBe(nats['renderer-us-east']);
    expect(renderer['WEBCAPTURE_SECRETS_KEY']).toBe(front['WEBCAPTURE_SECRETS_KEY']);
    return { nats, token: front['WEBCAPTURE_ADMIN_TOKEN'] ?? '', key: front['WEBCAPTURE_SECRETS_KEY'] ?? '' };
  };
  const guide = await readFile(join(root, 'docs/docker.md'), 'utf8');
  const section = guide.split('\n## Replace a secret\n')[1]?.split('\n## ')[0] ?? '';
  const blocks = Array.from(section.matchAll(/^```sh\n(.*?)^```/gms), ([, block = '']) => block);
  expect(blocks).toHaveLength(3);

  const first = await follow('docker compose up');
  const second = await follow(blocks[0] ?? '');
  expect(second).toEqual({ ...first, token: expect.stringMatching(/^[\w-]{32}$/) as string });
  expect(second.token).not.toBe(first.token);
  const third = await follow(blocks[1] ?? '');
  expect(Object.keys(third.nats)).toEqual(Object.keys(first.nats));
  for (const [name, password] of Object.entries(third.nats)) expect(password).not.toBe(first.nats[name]);
  const { key } = await follow(blocks[2] ?? '');
  expect(key).toMatch(new RegExp(`^[0-9a-f]{64},${first.key}$`));
});

/** Returns the files of secrets by their path, after a check that no other user can read them. */
async function secretsOf(folder: string): Promise<Readonly<Record<string, string>>> {
  const volumes = join(folder, 'volumes');
  const paths = (await readdir(volumes, { recursive: true })).filter((path) => /-secrets\//.test(path));
  const files: Record<string, string> = {};
  for (const path of paths) {
    expect((await stat(join(volumes, path))).mode & 0o777).toBe(0o600);
    files[path] = await readFile(join(volumes, path), 'utf8');
  }
  return files;
}

const post = (url: string, token: string, body: object) =>
  fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const readData = async (response: Response) => ((await response.json()) as { data: unknown }).data;

/** Makes a capture with secrets, which fronts and renderers seal with the same key; returns the first bytes of the file. */
async function capture(url: string, key: string): Promise<string> {
  const body = { html: '<h1>Hello</h1>', css: 'h1 { color: teal }', responseType: 'file' };
  const response = await post(`${url}/capture`, key, body);
  return Buffer.from(await response.arrayBuffer()).toString('hex', 0, 4);
}
