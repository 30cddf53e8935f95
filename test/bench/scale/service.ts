import process from 'node:process';
import { demoLimits } from '../../../services/front/auth/preset-key.ts';
import { Accounts } from '@webcapture/shared/accounts/accounts.ts';
import type { AccountLimits } from '@webcapture/shared/accounts/limits.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { benchKey, startBenchNats, startFront, type BenchFront } from '../front/parts.ts';

/** The account of {@link benchKey}. */
export const benchAccount = 'demo';

/** One process of each service, without renderers, which the benchmark adds. */
export interface BenchService {
  readonly session: NatsSession;
  readonly natsPid: number;
  readonly front: BenchFront;
  readonly controller: ServiceProcess;
}

/** Starts nats-server, controller and front. `limits` override those of the account of a preset key. No canaries run. */
export async function startService(
  parts: AsyncDisposableStack,
  limits: Partial<AccountLimits> = {},
  env: NodeJS.ProcessEnv = {},
): Promise<BenchService> {
  const { session, pid } = await startBenchNats(parts);
  await new Accounts(session).create({
    id: benchAccount,
    name: 'Bench',
    createdAt: Date.now(),
    ...demoLimits,
    tokenQuota: 1e9,
    ratePerMinute: 1e6,
    burst: 1e6,
    ...limits,
  });
  const natsUrl = session.nc.getServer();
  const controller = await startController(parts, natsUrl);
  return { session, natsPid: pid, front: await startFront(parts, natsUrl, env), controller };
}

export async function startController(parts: AsyncDisposableStack, natsUrl: string): Promise<ServiceProcess> {
  const controller = await ServiceProcess.prepare('controller', 'controller', {
    PATH: process.env['PATH'] ?? '',
    WEBCAPTURE_NATS_URL: natsUrl,
    WEBCAPTURE_REGIONS: 'us-east:1',
    WEBCAPTURE_KUBERNETES: 'off',
    WEBCAPTURE_CANARY_INTERVAL: '0',
  });
  await controller.start();
  parts.defer(() => controller.stop());
  return controller;
}

/** Sends a request to the front. Throws for any response but a 200. */
export async function ask(front: BenchFront, path: string, body?: object): Promise<{ data: Record<string, unknown> }> {
  const response = await fetch(`${front.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${benchKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(300_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} returned ${response.status}: ${text}`);
  return JSON.parse(text) as { data: Record<string, unknown> };
}
