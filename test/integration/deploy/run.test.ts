import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startNats } from '../../../deploy/local/nats.ts';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import { bucketSetUpMs, startTestBucket } from '../../harness/bucket.ts';
import { standInService } from './stand-in-service.ts';
import { patient, processesNaming, tempDir } from './support.ts';

const runModule = new URL('../../../deploy/local/run.ts', import.meta.url).href;

let natsServer: string;
beforeAll(async () => {
  natsServer = (await ensureTool('nats-server')).path;
  // A build of this tool would exceed the timeout of a test.
  await ensureTool('fake-gcs-server');
}, 600_000 + bucketSetUpMs);

/** A repository with stand-in services, and a script that runs them as `npm start` does. */
async function repository(setUp = `({ natsServer: withNats ? ${JSON.stringify(natsServer)} : undefined })`) {
  const root = await tempDir();
  for (const service of ['front', 'controller', 'renderer']) {
    await mkdir(join(root, 'services', service), { recursive: true });
    await writeFile(join(root, 'services', service, 'main.ts'), standInService);
  }
  await writeFile(
    join(root, 'start.ts'),
    `import { run } from '${runModule}';
     const setUp = async ({ withNats }) => ({ headlessShell: '/shell', chromium: '/chromium', ...(await ${setUp}) });
     process.exit(await run({
       env: process.env, root: ${JSON.stringify(root)}, colors: false, setUp,
       watch: process.argv.includes('--watch'),
       print: (text) => process.stdout.write(text + '\\n'),
     }));`,
  );
  return root;
}

function start(root: string, env: Record<string, string> = {}, args: readonly string[] = []) {
  const child = spawn(process.execPath, [join(root, 'start.ts'), ...args], {
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      PORT: '0',
      WEBCAPTURE_CHROMIUM_SANDBOX: 'off',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  // "close" comes after the last output, unlike "exit".
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as unknown);
  return {
    text: () => text,
    exited,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    ready: () => expect.poll(() => text, patient).toContain('webcapture is ready'),
  };
}

const environment = async (root: string, pod: string) =>
  JSON.parse(await readFile(join(root, `env-${pod}.json`), 'utf8')) as Record<string, string | undefined>;

/** Checks that another user of the machine cannot connect to the server, and cannot read the files. */
async function isClosedToOthers(root: string) {
  const { WEBCAPTURE_NATS_URL: servers = '' } = await environment(root, 'front');
  await expect(connect({ servers })).rejects.toThrow(/authorization/i);
  await expect(connect({ servers, user: 'front', pass: '' })).rejects.toThrow(/authorization/i);
  const modeOf = async (path: string) => ((await stat(join(root, '.data', path))).mode & 0o777).toString(8);
  expect(await Promise.all(['', 'nats'].map(modeOf))).toEqual(['700', '700']);
  const secrets = ['demo-key', 'secrets-key', 'nats/nats-server.conf'];
  expect(await Promise.all(secrets.map(modeOf))).toEqual(secrets.map(() => '600'));
  const passwords = await Promise.all(
    ['front', 'controller', 'us-east-0'].map(async (pod) => (await environment(root, pod))['WEBCAPTURE_NATS_PASSWORD']),
  );
  expect(new Set(passwords).size).toBe(3);
  const commands = (await processesNaming('')).map(({ command }) => command);
  expect(commands.filter((command) => passwords.some((password) => command.includes(password ?? '')))).toEqual([]);
  return passwords;
}

const nothingOf = (root: string) => expect.poll(() => processesNaming(root), patient).toEqual([]);

// Each test starts at least a dozen processes.
describe('npm start', { timeout: 180_000 }, () => {
  test('reports a mistyped variable and an invalid bucket before it starts anything', async () => {
    await using bucket = await startTestBucket();
    const root = await repository();
    const service = start(root, {
      WEBCAPTURE_GCS_BUCKET: 'another',
      WEBCAPTURE_GCS_ENDPOINT: bucket.endpoint,
      WEBCAPTURE_SLOT: '3',
    });
    expect(await service.exited).toBe(1);
    expect(service.text()).toContain('WEBCAPTURE_SLOT is not known; did you mean WEBCAPTURE_SLOTS?');
    expect(service.text()).toContain('there is no bucket another: create it, or correct WEBCAPTURE_GCS_BUCKET');
    expect(service.text()).not.toContain('    at ');
    await nothingOf(root);
  });

  test('starts all services with their configuration, and stops them in order', async () => {
    const root = await repository();
    const service = start(root, {
      WEBCAPTURE_ADMIN_TOKEN: 'admin',
      WEBCAPTURE_SLOTS: '3',
      WEBCAPTURE_REGIONS: 'us-east:1,eu-west:2',
    });
    await service.ready();
    const front = await environment(root, 'front');
    const renderer = await environment(root, 'eu-west-1');
    const controller = await environment(root, 'controller');
    const common = {
      WEBCAPTURE_NATS_URL: expect.stringMatching(/^nats:\/\/127\.0\.0\.1:\d+$/),
      WEBCAPTURE_OPS_HOST: '127.0.0.1',
      WEBCAPTURE_OPS_PORT: expect.stringMatching(/^\d+$/),
      WEBCAPTURE_REGIONS: 'us-east:1,eu-west:2',
      WEBCAPTURE_EGRESS_ALLOW: '127.0.0.0/8,::1/128',
      WEBCAPTURE_SLOTS: '3',
    };
    expect(front).toMatchObject({
      ...common,
      PORT: expect.stringMatching(/^[1-9]\d*$/),
      WEBCAPTURE_HOST: '127.0.0.1',
      WEBCAPTURE_PUBLIC_URL: `http://127.0.0.1:${front['PORT']}`,
      WEBCAPTURE_API_KEY: expect.stringMatching(/^wc_live_/),
      WEBCAPTURE_ADMIN_TOKEN: 'admin',
      WEBCAPTURE_HOME_REGION: 'us-east',
    });
    expect(renderer).toMatchObject({
      ...common,
      WEBCAPTURE_REGION: 'eu-west',
      WEBCAPTURE_POD: 'eu-west-1',
      WEBCAPTURE_HEADLESS_SHELL_PATH: '/shell',
      WEBCAPTURE_CHROMIUM_PATH: '/chromium',
      WEBCAPTURE_CHROMIUM_SANDBOX: 'off',
    });
    expect(controller).toMatchObject(common);
    for (const other of [renderer, controller]) {
      expect(other['WEBCAPTURE_API_KEY']).toBeUndefined();
      expect(other['WEBCAPTURE_ADMIN_TOKEN']).toBeUndefined();
    }
    expect(service.text()).toContain(
      `http://127.0.0.1:${front['PORT']}/capture -H 'Authorization: Bearer ${front['WEBCAPTURE_API_KEY']}'`,
    );

    const passwords = await isClosedToOthers(root);
    const natsConfig = await readFile(join(root, '.data', 'nats', 'nats-server.conf'), 'utf8');
    expect(natsConfig).toMatch(/"renderer-eu-west": \{\s+"users": \[/);

    service.kill('SIGINT');
    expect(await service.exited).toBe(0);
    const stops = service.text().match(/^\S+(?= .*told to stop)/gm);
    expect([stops?.[0], stops?.slice(1, 4).toSorted(), stops?.[4]]).toEqual([
      'front',
      ['eu-west-0', 'eu-west-1', 'us-east'],
      'controller',
    ]);
    await nothingOf(root);

    // A copied folder may have these modes.
    for (const path of ['.data', '.data/nats']) await chmod(join(root, path), 0o755);
    await chmod(join(root, '.data/nats/nats-server.conf'), 0o644);
    const second = start(root);
    await second.ready();
    const others = await isClosedToOthers(root);
    expect(others.filter((password) => passwords.includes(password))).toEqual([]);
    expect((await environment(root, 'front'))['WEBCAPTURE_API_KEY']).toBe(front['WEBCAPTURE_API_KEY']);
    second.kill('SIGTERM');
    expect(await second.exited).toBe(0);
  });

  test('accepts an existing server and bucket, a preset key and an empty egress list', { tags: 'long' }, async () => {
    const root = await repository();
    const existing = await startNats({ dataDir: await tempDir(), toolPath: natsServer });
    onTestFinished(async () => void (await existing.process.stop()));
    const apiKey = 'any key of sixteen characters';
    await using bucket = await startTestBucket();
    const service = start(root, {
      WEBCAPTURE_NATS_URL: existing.url,
      WEBCAPTURE_NATS_USER: 'another',
      WEBCAPTURE_NATS_PASSWORD: 'secret',
      WEBCAPTURE_API_KEY: apiKey,
      WEBCAPTURE_EGRESS_ALLOW: '',
      WEBCAPTURE_GCS_BUCKET: bucket.bucket,
      WEBCAPTURE_GCS_ENDPOINT: bucket.endpoint,
      GOOGLE_APPLICATION_CREDENTIALS: '/key.json',
    });
    await service.ready();
    expect(service.text()).toContain(`files     gs://${bucket.bucket}/ at ${bucket.endpoint}`);
    for (const pod of ['front', 'controller', 'us-east-0']) {
      expect(await environment(root, pod)).toMatchObject({
        WEBCAPTURE_NATS_USER: 'another',
        WEBCAPTURE_NATS_PASSWORD: 'secret',
        WEBCAPTURE_GCS_BUCKET: bucket.bucket,
        WEBCAPTURE_GCS_ENDPOINT: bucket.endpoint,
        GOOGLE_APPLICATION_CREDENTIALS: '/key.json',
      });
    }
    expect(await environment(root, 'front')).toMatchObject({
      WEBCAPTURE_NATS_URL: existing.url,
      WEBCAPTURE_API_KEY: apiKey,
      WEBCAPTURE_EGRESS_ALLOW: '',
    });
    expect((await processesNaming(root)).filter(({ command }) => command.includes('nats-server'))).toEqual([]);
    service.kill('SIGTERM');
    expect(await service.exited).toBe(0);
  });

  test('reports each obstacle in one line', async () => {
    const root = await repository();
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const portTaken = start(root, { PORT: String(port) });
    expect(await portTaken.exited).toBe(1);
    expect(portTaken.text()).toBe(
      `webcapture   port ${port} on 127.0.0.1 is already taken: stop what listens there, or set PORT to another one\n`,
    );

    const badValue = start(root, { WEBCAPTURE_API_KEY: 'short' });
    expect(await badValue.exited).toBe(1);
    expect(badValue.text()).toBe('webcapture   WEBCAPTURE_API_KEY must have at least 16 characters\n');

    const running = start(root);
    await running.ready();
    const second = start(root);
    expect(await second.exited).toBe(1);
    expect(second.text()).toMatch(
      /^webcapture {3}webcapture is already running on \S+ \(process \d+\): stop it, .*\n$/,
    );
    running.kill('SIGTERM');
    expect(await running.exited).toBe(0);
  });

  test('restarts processes that end, including nats-server', { tags: 'long' }, async () => {
    const root = await repository();
    const service = start(root);
    await service.ready();
    const before = await environment(root, 'us-east-0');
    for (const program of ['nats-server -c', 'renderer/main.ts']) {
      const [victim] = (await processesNaming(root)).filter(({ command }) => command.includes(program));
      process.kill(victim?.pid ?? 0, 'SIGKILL');
    }
    const restarts = () => service.text().match(/ (up|starting it again)/g)?.length;
    // The lines are four services, then a renderer again, and one line for each of the two restarts.
    await expect.poll(restarts, patient).toBe(7);
    await expect
      .poll(
        async () => (await processesNaming(root)).filter(({ command }) => command.includes('nats-server -c')),
        patient,
      )
      .toHaveLength(1);
    expect((await environment(root, 'us-east-0'))['WEBCAPTURE_NATS_URL']).toBe(before['WEBCAPTURE_NATS_URL']);
    service.kill('SIGTERM');
    expect(await service.exited).toBe(0);
  });

  test(
    'with --watch, restarts only the service of an edited file, even after one that could not start',
    { tags: 'long' },
    async () => {
      const root = await repository();
      const service = start(root, {}, ['--watch']);
      await service.ready();
      await expect.poll(service.text, patient).toContain('watching services/');
      const others = async () =>
        (await processesNaming(root)).filter(({ command }) => /controller|renderer|nats-server/.test(command));
      const before = await others();
      const main = join(root, 'services/front/main.ts');
      await writeFile(main, `${standInService}\nthis is no TypeScript`);
      await expect.poll(service.text, patient).toMatch(/front ended .*; waiting for the next edit/);
      expect(service.text()).toContain('services/front/main.ts changed: restarting front\n');
      await writeFile(main, standInService);
      await expect.poll(service.text, patient).toContain('front is ready again');
      expect(await others()).toEqual(before);

      await mkdir(join(root, 'services/shared/runtime'), { recursive: true });
      await writeFile(join(root, 'services/shared/runtime/new.ts'), '');
      await expect.poll(service.text, patient).toMatch(/changed: restarting controller, front, us-east, eu-west\n/);
      await expect.poll(() => service.text().match(/is ready again/g)?.length, patient).toBe(5);
      service.kill('SIGTERM');
      expect(await service.exited).toBe(0);
    },
  );

  test('stops at once on a second signal', { tags: 'long' }, async () => {
    const root = await repository();
    const service = start(root, { DEAF: '1' });
    await service.ready();
    service.kill('SIGINT');
    await expect.poll(service.text, patient).toContain('told to stop');
    // In a shorter time, both signals would count as one key press.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const begin = performance.now();
    service.kill('SIGINT');
    expect(await service.exited).toBe(130);
    expect(service.text()).toContain('stopping at once');
    // A normal stop has up to 10 s for each of three stages.
    expect(performance.now() - begin).toBeLessThan(20_000);
    await nothingOf(root);
  });

  test('cancels set-up or start on a stop', { tags: 'long' }, async () => {
    const settingUp = await repository(`(console.log('setting up'), new Promise(() => setInterval(() => {}, 1000)))`);
    const first = start(settingUp);
    await expect.poll(first.text, patient).toContain('setting up');
    first.kill('SIGTERM');
    expect(await first.exited).toBe(130);

    const root = await repository();
    const second = start(root, { READY_AFTER_MS: '60000' });
    await expect.poll(second.text, patient).toMatch(/still waiting for .*front \(warming up\)/);
    second.kill('SIGTERM');
    expect(await second.exited).toBe(130);
    await nothingOf(root);
  });

  test('leaves nothing when killed, and starts again', { tags: 'long' }, async () => {
    const root = await repository();
    const service = start(root);
    await service.ready();
    service.kill('SIGKILL');
    await service.exited;
    await nothingOf(root);

    for (const afterMs of [200, 350, 500, 700]) {
      const early = start(root, { DEAF: '1' });
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      early.kill('SIGKILL');
      await early.exited;
      await nothingOf(root);
    }
    const again = start(root);
    await again.ready();
    again.kill('SIGTERM');
    expect(await again.exited).toBe(0);
  });
});
