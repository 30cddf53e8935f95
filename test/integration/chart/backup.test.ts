// @module-tag long
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import { provision } from '../../../services/controller/streams.ts';
import { passwordOf, startChartNats, type ChartNats } from '../../harness/chart-nats.ts';
import { find, helmDeadlineMs, render, type KubeObject } from '../../harness/helm.ts';
import { silentLog, streamSettings } from '../../harness/nats-session.ts';

const guide = await readFile(new URL('../../../docs/backup.md', import.meta.url), 'utf8');
/** Returns the commands of a section of the guide that use only NATS. */
const commandsOf = (section: string) => {
  const text = guide.split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '';
  const blocks = [...text.matchAll(/^```sh\n(nats .*?)^```/gms)].map(([, block = '']) => block);
  expect(blocks).toHaveLength(1);
  return blocks.join('');
};

let objects: readonly KubeObject[];
let nats: ChartNats;
let folder: string;
let path: string;
const open: NatsSession[] = [];
beforeAll(async () => {
  const tool = ensureTool('nats', { log: (line) => process.stdout.write(`${line}\n`) });
  objects = await render();
  nats = await startChartNats(objects);
  folder = await mkdtemp(join(inject('tempFolder'), 'backup-'));
  path = `${dirname((await tool).path)}:${process.env['PATH']}`;
}, helmDeadlineMs);
afterAll(async () => {
  await Promise.all(open.map(({ nc }) => nc.close()));
  await nats.server.stop({ graceMs: 0 });
});

const passwordOfUser = (user: string) =>
  passwordOf(objects, { name: 'wc-webcapture-nats-auth', key: `${user}-password` });

async function signIn(user: 'front' | 'controller', { url }: ChartNats = nats): Promise<NatsSession> {
  const session = await connectNats({
    url,
    user,
    password: passwordOfUser(user),
    inboxPrefix: `_INBOX.${user}`,
    name: 'test',
    log: silentLog,
    signal: AbortSignal.timeout(30_000),
  });
  open.push(session);
  return session;
}

/** Runs commands in a shell set up as in the section "Connect". */
async function follow(commands: string): Promise<string> {
  const env = {
    PATH: path,
    HOME: folder,
    NATS_URL: nats.url,
    NATS_USER: 'backup',
    NATS_PASSWORD: passwordOfUser('backup'),
  };
  const { stdout, stderr } = await promisify(execFile)('bash', ['-euc', commands], {
    cwd: folder,
    env,
    timeout: 60_000,
  });
  return `${stdout}${stderr}`;
}

const contentOf = async ({ jsm }: NatsSession) =>
  Promise.all(
    [streamNames.db, streamNames.files].map(async (name) => {
      const { state } = await jsm.streams.info(name, { subjects_filter: '>' });
      return { name, messages: state.messages, last: state.last_seq, subjects: state.subjects };
    }),
  );

test(
  'the user backup can back up and restore all streams with the commands of the guide',
  async () => {
    const [controller, front] = await Promise.all([signIn('controller'), signIn('front')]);
    await provision(controller.jsm, streamSettings, ['us-east']);
    for (const id of ['a', 'b', 'c']) {
      await front.js.publish(`$KV.db.account.${id}`, JSON.stringify({ id }));
      await front.js.publish(`files.head.${id}`, new Uint8Array(300_000));
    }
    const before = await contentOf(controller);
    await follow(commandsOf('Back up'));
    // A change after the backup, and an accidental deletion.
    await front.js.publish('$KV.db.account.d', '{}');
    await controller.jsm.streams.delete(streamNames.files);
    await provision(controller.jsm, streamSettings, ['us-east']);
    expect(await contentOf(controller)).not.toEqual(before);
    await follow(commandsOf('Restore'));
    expect(await contentOf(controller)).toEqual(before);
    // Controllers that restart accept the restored streams.
    await provision(controller.jsm, streamSettings, ['us-east']);
    expect(await contentOf(controller)).toEqual(before);
  },
  helmDeadlineMs,
);

test(
  'the CronJob of the examples backs up the streams of the guide, and removes old and incomplete backups',
  async () => {
    const text = await readFile(
      new URL('../../../charts/webcapture/examples/backup-cronjob.yaml', import.meta.url),
      'utf8',
    );
    const manifests = parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
    const { template } = find(manifests, 'CronJob', 'webcapture-backup')['spec'].jobTemplate.spec as {
      template: {
        metadata: { labels: object };
        spec: { containers: { command: string[]; env: { name: string; value?: string; valueFrom?: object }[] }[] };
      };
    };
    const [container] = template.spec.containers;
    const [shell = '', flags = '', script = ''] = container?.command ?? [];
    const target = await mkdtemp(join(folder, 'target-'));
    await promisify(execFile)('sh', ['-c', 'mkdir old kept.partial && touch -d "15 days ago" old'], { cwd: target });
    const fixed = Object.fromEntries((container?.env ?? []).map(({ name, value = '' }) => [name, value]));
    const env = { ...fixed, PATH: path, HOME: target, XDG_CONFIG_HOME: folder, TARGET: target };
    await promisify(execFile)(shell, [flags, script], {
      env: { ...env, NATS_URL: nats.url, NATS_PASSWORD: passwordOfUser('backup') },
      timeout: 60_000,
    });
    const made = (await readdir(target)).filter((name) => !name.startsWith('.'));
    expect(made).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/)]);
    const streams = commandsOf('Back up').match(/backup\/\w+/g) ?? [];
    expect((await readdir(join(target, made[0] ?? ''))).map((name) => `backup/${name}`).toSorted()).toEqual(
      streams.toSorted(),
    );

    // The names are those of a release `webcapture`, and the policy selects the pods of its NATS.
    const password = container?.env.find(({ name }) => name === 'NATS_PASSWORD')?.valueFrom;
    expect(password).toEqual({ secretKeyRef: { name: 'webcapture-nats-auth', key: 'backup-password' } });
    const { podSelector, ingress } = find(manifests, 'NetworkPolicy', 'webcapture-backup')['spec'] as {
      podSelector: { matchLabels: object };
      ingress: { from: { podSelector: { matchLabels: object } }[] }[];
    };
    const labels = find(objects, 'StatefulSet', 'wc-webcapture-nats')['spec'].template.metadata.labels as object;
    expect({ ...labels, 'app.kubernetes.io/instance': 'webcapture' }).toMatchObject(podSelector.matchLabels);
    expect(template.metadata.labels).toEqual(ingress[0]?.from[0]?.podSelector.matchLabels);
  },
  helmDeadlineMs,
);

test('the user backup can only read and write whole streams', async () => {
  const refused = ["publish '$KV.db.account.e' x", 'kv get db account.a', 'stream get KV_db 1'].map((command) =>
    expect(follow(`nats --inbox-prefix _INBOX.backup --timeout 1s ${command}`)).rejects.toThrow(
      /permissions violation|timeout|deadline/i,
    ),
  );
  await Promise.all(refused);
});

test('a copy of the folder of the running server is complete if there are no writes', async () => {
  const before = await contentOf(await signIn('controller'));
  const copy = await mkdtemp(join(inject('tempFolder'), 'volume-'));
  await promisify(execFile)('sh', ['-c', `tar -C "$1" -cf - jetstream | tar -C "$2" -xf -`, 'sh', nats.dataDir, copy]);
  const moved = await startChartNats(objects, copy);
  try {
    expect(await contentOf(await signIn('controller', moved))).toEqual(before);
  } finally {
    await moved.server.stop({ graceMs: 0 });
  }
});

test('the volume of the guide is the one that the StatefulSet uses', () => {
  const manifest = /# volume\.yaml\n(.*?)```/s.exec(guide)?.[1]?.replaceAll(/^ {3}/gm, '') ?? '';
  const [claim] = parseAllDocuments(manifest).map((document) => document.toJS() as KubeObject);
  const { volumeClaimTemplates } = find(objects, 'StatefulSet', 'wc-webcapture-nats')['spec'] as {
    volumeClaimTemplates: { metadata: { name: string; labels: object }; spec: object }[];
  };
  const [template] = volumeClaimTemplates;
  expect(claim?.metadata.name).toBe(`${template?.metadata.name}-webcapture-nats-0`);
  expect(claim?.['spec']).toEqual(template?.spec);
  expect(claim?.metadata.labels).toEqual({ ...template?.metadata.labels, 'app.kubernetes.io/instance': 'webcapture' });
});
