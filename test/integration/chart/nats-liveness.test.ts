// @module-tag long
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { passwordOf, startChartNats, type ChartNats } from '../../harness/chart-nats.ts';
import { find, helmDeadlineMs, podOf, render, type KubeObject } from '../../harness/helm.ts';
import { silentLog, streamSettings } from '../../harness/nats-session.ts';
import { mountSmallDisk } from '../../harness/small-disk.ts';
import { removeFolder } from '../../harness/temp-folder.ts';
import { until } from '../../harness/until.ts';
import { provision } from '../../../services/controller/streams.ts';

const run = promisify(execFile);

let objects: readonly KubeObject[];
let path: string;
beforeAll(async () => {
  objects = await render();
  path = await pathOfProbe();
}, helmDeadlineMs);

/** Returns the PATH of BusyBox, as in the image, or that of this machine if it is not installed. */
async function pathOfProbe(): Promise<string> {
  const own = process.env['PATH'] ?? '';
  const busybox = await run('sh', ['-c', 'command -v busybox']).catch(() => undefined);
  if (busybox === undefined) return own;
  const folder = await mkdtemp(join(inject('tempFolder'), 'busybox-'));
  for (const name of ['sh', 'timeout', 'wget', 'df', 'awk', 'test'])
    await symlink(busybox.stdout.trim(), join(folder, name));
  return folder;
}

/**
 * Runs the liveness probe of the chart. Its processes must end within its timeout without being killed, because containerd reports a
 * probe only after all processes have closed its output.
 */
async function isLive({ monitorPort, dataDir }: ChartNats): Promise<boolean> {
  const container = podOf(find(objects, 'StatefulSet', 'wc-webcapture-nats'))?.containers[0] as unknown as {
    livenessProbe: { exec: { command: [string, ...string[]] }; timeoutSeconds: number };
  };
  const { exec, timeoutSeconds } = container.livenessProbe;
  const [shell, ...args] = exec.command.map((it) => it.replace('8222', String(monitorPort)).replace('/data', dataDir));
  const probe = spawn(shell ?? '', args, { env: { PATH: path }, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [probe.stdout, probe.stderr]) stream.resume();
  const [code] = (await once(probe, 'close', { signal: AbortSignal.timeout(timeoutSeconds * 1000) })) as [number];
  return code === 0;
}

async function start(dataDir: string): Promise<ChartNats> {
  const nats = await startChartNats(objects, dataDir);
  onTestFinished(async () => void (await nats.server.stop({ graceMs: 0 })));
  return nats;
}

async function signIn({ url }: ChartNats) {
  const session = await connectNats({
    url,
    user: 'controller',
    password: passwordOf(objects, { name: 'wc-webcapture-nats-auth', key: 'controller-password' }),
    inboxPrefix: '_INBOX.controller',
    name: 'test',
    log: silentLog,
    signal: AbortSignal.timeout(30_000),
  });
  onTestFinished(() => session.nc.close());
  return session;
}

test('the liveness probe restarts the embedded NATS after its volume was full, not while it is', async (context) => {
  const folder = await mkdtemp(join(inject('tempFolder'), 'volume-'));
  onTestFinished(() => removeFolder(folder));
  const disk = await mountSmallDisk(join(folder, 'data'), 160);
  if (typeof disk === 'string') return context.skip(disk);
  onTestFinished(() => disk[Symbol.asyncDispose]());
  const nats = await start(disk.folder);
  const { jsm, js } = await signIn(nats);
  await provision(jsm, streamSettings, ['us-east']);
  const write = (session = js) =>
    session.publish('$KV.db.status.probe', Buffer.alloc(10_000), { timeout: 2000, retries: 0 });
  await write();
  expect(await isLive(nats)).toBe(true);

  await disk.fill();
  await expect(write()).rejects.toThrow();
  expect(await isLive(nats)).toBe(true);
  await disk.free();
  // The probe detects a server that still refuses writes although there is space.
  await expect(write()).rejects.toThrow();
  expect(await isLive(nats)).toBe(false);

  await nats.server.stop();
  expect(await isLive(nats)).toBe(false);
  const restarted = await start(disk.folder);
  const again = await signIn(restarted);
  await write(again.js);
  expect(await isLive(restarted)).toBe(true);
});

test('the liveness probe restarts a server that does not respond', async () => {
  const folder = await mkdtemp(join(inject('tempFolder'), 'volume-'));
  onTestFinished(() => removeFolder(folder));
  await mkdir(join(folder, 'data'));
  const nats = await start(join(folder, 'data'));
  await until('the server to be live', () => isLive(nats));
  nats.server.kill('SIGSTOP');
  // A thread of the server may still answer one probe.
  await until('the server to be dead', async () => !(await isLive(nats)));
  nats.server.kill('SIGCONT');
  await until('the server to be live again', () => isLive(nats));
});
