// @module-tag long
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import { provision } from '../../../services/controller/streams.ts';
import { passwordOf, startChartNats, type ChartNats } from '../../harness/chart-nats.ts';
import { find, helmDeadlineMs, podOf, render, type KubeObject } from '../../harness/helm.ts';
import { silentLog, streamSettings } from '../../harness/nats-session.ts';

const folder = new URL('../../../docs/runbooks/', import.meta.url);
const pages = (await readdir(folder)).filter((name) => name.endsWith('.md'));

/** The nats commands of all runbooks, each with its page. */
const commands = (
  await Promise.all(
    pages.map(async (page) => {
      const text = await readFile(new URL(page, folder), 'utf8');
      const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block);
      return blocks
        .flatMap((block) => block.split('\n').filter((line) => line.startsWith('nats ')))
        .map((line) => ({
          page,
          line,
          command: line.replace(/\s+#.*$/, ''),
        }));
    }),
  )
).flat();

/** Expected output of each command according to its runbook. The keys omit `nats --inbox-prefix _INBOX.operator`. */
const prints: Readonly<Record<string, RegExp>> = {
  'account info': /Storage: [\d.]+ \w+[^]*Account Limits:/,
  'stream report': /Messages │ Bytes[^]*KV_live/,
  'stream info KV_live': /Maximum Bytes: [\d.]+ \w+[^]*Bytes: [\d.]+ \w+/,
  'stream info FILES': /Maximum Bytes: [\d.]+ \w+[^]*Bytes: [\d.]+ \w+/,
  'stream subjects FILES | tail': /files\.head\.a/,
  'stream subjects CAPTURES "captures.$REGION.>"': /captures\.us-east\./,
  'consumer info RESULTS settle': /Outstanding Acks: 0[^]*Unprocessed Messages: 0/,
  'kv get live config': /"regions":"us-east:1"/,
  rtt: /nats:\/\/127\.0\.0\.1:\d+: [\d.]+\w/,
};

/** Streams with limits, as those of the chart. */
const limited = { ...streamSettings, maxBytes: { ...streamSettings.maxBytes, live: 100_000_000, files: 100_000_000 } };

let objects: readonly KubeObject[];
let nats: ChartNats;
let session: NatsSession;
let home: string;
let path: string;
beforeAll(async () => {
  const tool = ensureTool('nats', { log: (line) => process.stdout.write(`${line}\n`) });
  objects = await render({ nats: { admin: { enabled: true } } });
  nats = await startChartNats(objects);
  home = await mkdtemp(join(inject('tempFolder'), 'runbooks-'));
  path = `${dirname((await tool).path)}:${process.env['PATH']}`;
  session = await connectNats({
    url: nats.url,
    user: 'admin',
    password: passwordOfUser('admin'),
    name: 'test',
    log: silentLog,
    signal: AbortSignal.timeout(30_000),
  });
  await provision(session.jsm, limited, ['us-east']);
  await new Entries(session, 'live').put('config', { regions: 'us-east:1' });
  await session.js.publish('captures.us-east.interactive.u', '{}');
  await session.js.publish('files.head.a', 'file');
}, helmDeadlineMs);
afterAll(async () => {
  await session.nc.close();
  await nats.server.stop({ graceMs: 0 });
});

const passwordOfUser = (user: string) =>
  passwordOf(objects, { name: 'wc-webcapture-nats-auth', key: `${user}-password` });

/** Runs a command in a shell set up as in the section "The nats command". */
async function follow(command: string, user = 'operator'): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', command], {
    cwd: home,
    env: {
      PATH: path,
      HOME: home,
      NATS_URL: nats.url,
      NATS_USER: user,
      NATS_PASSWORD: passwordOfUser(user),
      REGION: 'us-east',
    },
    timeout: 60_000,
  });
  return stdout;
}

describe('the nats commands of the runbooks, run by the user operator', () => {
  test('exist', () => {
    const short = commands.map(({ command }) => command.replace('nats --inbox-prefix _INBOX.operator ', ''));
    expect(new Set(short)).toEqual(new Set(Object.keys(prints)));
  });

  test.each(commands)('$page: $line', async ({ command }) => {
    const printed = prints[command.replace('nats --inbox-prefix _INBOX.operator ', '')];
    expect(await follow(command)).toMatch(printed ?? /missing/);
  });
});

test('the user operator cannot read a secret, and the user admin can', async () => {
  await session.js.publish('$KV.db.secret.tickets', '"the secret of tickets"');
  const command = 'kv get db secret.tickets --raw';
  await expect(follow(`nats --inbox-prefix _INBOX.operator --timeout 1s ${command}`)).rejects.toThrow(
    /permissions violation/i,
  );
  expect(await follow(`nats ${command}`, 'admin')).toContain('the secret of tickets');
});

test(
  'the admin is absent by default, and has a key in an existing Secret',
  async () => {
    const usersOf = (all: readonly KubeObject[]) =>
      (podOf(find(all, 'StatefulSet', 'wc-webcapture-nats'))?.containers[0]?.env ?? []).map(({ name }) => name);
    expect(usersOf(await render())).not.toContain('ADMIN_PASSWORD');
    const own = usersOf(await render({ nats: { admin: { enabled: true }, existingSecret: 'mine' } }));
    expect(own).toContain('ADMIN_PASSWORD');
    expect(own).not.toContain('OPERATOR_PASSWORD');
  },
  helmDeadlineMs,
);

test('the pod of the runbooks reaches the embedded NATS as the user operator', async () => {
  const guide = await readFile(new URL('README.md', folder), 'utf8');
  const pod = parse(/# nats-box\.yaml\n(.*?)```/s.exec(guide)?.[1] ?? '') as KubeObject;
  const cronJob = new URL('../../charts/webcapture/examples/backup-cronjob.yaml', folder);
  expect(await readFile(cronJob, 'utf8')).toContain(`image: ${podOf(pod)?.containers[0]?.image}\n`);
  const secret = { name: 'webcapture-nats-auth', key: 'operator-password' };
  expect(podOf(pod)?.containers[0]?.env).toContainEqual({
    name: 'NATS_PASSWORD',
    valueFrom: { secretKeyRef: secret },
  });
  const policy = find(objects, 'NetworkPolicy', 'wc-webcapture-nats')['spec'] as {
    ingress: { from: { podSelector?: { matchLabels?: Record<string, string> } }[] }[];
  };
  const admitted = policy.ingress.flatMap(({ from }) => from).map(({ podSelector }) => podSelector?.matchLabels);
  expect(admitted).toContainEqual({ ...pod.metadata.labels, 'app.kubernetes.io/instance': 'wc' });
});

test('the monitoring port shows what the system account would', async () => {
  const guide = await readFile(new URL('README.md', folder), 'utf8');
  const address = /'(http:\/\/127\.0\.0\.1:8222\/jsz[^']*)'/.exec(guide)?.[1] ?? '';
  const response = await fetch(address.replace(':8222', `:${nats.monitorPort}`));
  expect(await response.json()).toMatchObject({
    config: { max_storage: expect.any(Number) as unknown },
    account_details: [{ name: 'webcapture', stream_detail: expect.any(Array) as unknown }],
  });
});
