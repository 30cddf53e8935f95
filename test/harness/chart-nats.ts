import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { startProcess, type GuardedProcess } from '../../deploy/local/process.ts';
import { freePort } from './free-port.ts';
import { find, planOf, podOf, type KubeObject } from './helm.ts';

export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** The key of a Secret that sets a variable of a pod. */
export const secretKeyOf = ({ valueFrom }: { readonly valueFrom?: object }): SecretKey | undefined =>
  (valueFrom as { secretKeyRef?: SecretKey } | undefined)?.secretKeyRef;

/** Returns a fixed value for a password that the pre-install Job would have generated. Throws for any other key. */
export function passwordOf(objects: readonly KubeObject[], from: SecretKey | undefined): string {
  const secret = planOf(objects).secrets.find(({ name }) => name === from?.name);
  if (from === undefined || secret?.keys.includes(from.key) !== true) {
    throw new Error(`the plan has no secret for ${JSON.stringify(from)}`);
  }
  return `p${Buffer.from(from.key).toString('hex')}`;
}

export const natsConfigOf = (objects: readonly KubeObject[]): string =>
  (find(objects, 'ConfigMap', 'wc-webcapture-nats') as unknown as { readonly data: Readonly<Record<string, string>> })
    .data['nats.conf'] ?? '';

export interface ChartNats {
  readonly url: string;
  readonly monitorPort: number;
  /** Mount path of its volume. */
  readonly dataDir: string;
  readonly server: GuardedProcess;
}

/**
 * A nats-server with the configuration, variables and passwords of the chart's StatefulSet, in a new folder or in `dataDir`. Only the
 * folder and the ports differ from the chart.
 */
export async function startChartNats(objects: readonly KubeObject[], dataDir?: string): Promise<ChartNats> {
  const folder = dataDir ?? (await mkdtemp(join(inject('tempFolder'), 'chart-nats-')));
  const [port, monitorPort] = await Promise.all([freePort(), freePort()]);
  const config = natsConfigOf(objects)
    .replace('/data', folder)
    .replace('0.0.0.0:4222', `0.0.0.0:${port}`)
    .replace('0.0.0.0:8222', `0.0.0.0:${monitorPort}`);
  await writeFile(join(folder, 'nats.conf'), config);
  const variables = podOf(find(objects, 'StatefulSet', 'wc-webcapture-nats'))?.containers[0]?.env ?? [];
  const env = Object.fromEntries(variables.map((it) => [it.name, it.value ?? passwordOf(objects, secretKeyOf(it))]));
  const server = await startProcess({
    name: 'nats-server',
    command: inject('tools').natsServer,
    args: ['-c', join(folder, 'nats.conf')],
    env,
    onLine: () => undefined,
  });
  return { url: `nats://127.0.0.1:${port}`, monitorPort, dataDir: folder, server };
}
