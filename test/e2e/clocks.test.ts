// @module-tag long
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import type { NewKeyView } from '@webcapture/shared/api/api-key.ts';
import type { UsageView } from '@webcapture/shared/api/account.ts';
import type { CaptureState } from '@webcapture/shared/api/capture.ts';
import { ensureTool } from '../../deploy/tools/ensure-tool.ts';
import type { ServiceProcess } from '../harness/service-process.ts';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet({ slots: 2 });
const site = useSite();

/** The library that changes the time of a program, for the dynamic linker. */
let library: string;
beforeAll(async () => {
  const { path } = await ensureTool('faketime', { log: (line) => process.stdout.write(`${line}\n`) });
  const { stdout } = await promisify(execFile)(path, ['-m', '-f', '+0', 'sh', '-c', 'echo "$LD_PRELOAD"']);
  library = stdout.trim();
}, 120_000);

const services = ['front', 'controller', 'renderer'] as const;
function processOf(service: (typeof services)[number]): ServiceProcess {
  const { fronts, controller, renderer } = fleet();
  if (service === 'controller') return controller;
  const found = service === 'front' ? fronts[0] : renderer('us-east');
  if (found === undefined) throw new Error('the fleet has no front');
  return found;
}

/** Waits use the monotonic clock, which runs normally, as on a machine whose time is set wrong. */
const clockOf = (offsetSeconds: number) => ({
  LD_PRELOAD: library,
  FAKETIME: `${offsetSeconds < 0 ? '' : '+'}${offsetSeconds}`,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
});

const hour = 3600;

describe.each(services)('%s', (service) => {
  test.each([
    ['an hour ahead', hour],
    ['an hour behind', -hour],
  ])('captures work with a clock %s', { timeout: 120_000 }, async (_name, offsetSeconds) => {
    const { api, operational, serving } = fleet();
    const process = processOf(service);
    await process.restartWith(clockOf(offsetSeconds));
    try {
      await serving('us-east', 1);
      await operational();
      const url = site().url('/color');
      const before = await api.call<UsageView>('GET', '/usage');

      const { key } = await api.call<NewKeyView>('POST', '/keys', {
        body: { name: 'short', scopes: ['capture', 'read'], expiresAt: new Date(Date.now() + 600_000).toISOString() },
      });
      const interactive = await api.captured({ url }, { key });
      expect(Math.abs(Date.parse(interactive.metadata.capturedAt) - Date.now())).toBeLessThan(60_000);
      const file = await api.request(interactive.fileUrl);
      expect([file.status, (await file.arrayBuffer()).byteLength]).toEqual([200, interactive.fileSizeBytes]);

      const cached = {
        url,
        viewport: { width: 900 + services.indexOf(service) },
        responseCache: { enabled: true, ttl: 60 },
      };
      const first = await api.captured({ ...cached, quality: offsetSeconds > 0 ? 70 : 71, format: 'jpeg' });
      const again = await api.captured({ ...cached, quality: offsetSeconds > 0 ? 70 : 71, format: 'jpeg' });
      expect([first.fromCache, again.fromCache, again.uuid]).toEqual([false, true, first.uuid]);

      const { body } = await api.capture({ url, background: true });
      const uuid = body?.data?.uuid ?? '';
      const ended = await until('the background capture to end', async () => {
        const state = await api.call<CaptureState>('GET', `/captures/${uuid}`);
        return state.status !== 'queued' && state.status !== 'rendering' && state;
      });
      expect(ended.status).toBe('completed');

      const { items } = await api.call<{ items: readonly { uuid: string }[] }>('GET', '/captures?limit=3');
      expect(items.map((item) => item.uuid)).toEqual([uuid, first.uuid, interactive.uuid]);
      const usage = await until('the reservations in flight to be released', async () => {
        const now = await api.call<UsageView>('GET', '/usage');
        return now.inFlight === 0 && now;
      });
      expect(usage.tokensUsed - before.tokensUsed).toBe(3);
      await operational();
    } finally {
      await process.restartWith({ FAKETIME: '+0' });
    }
  });
});
