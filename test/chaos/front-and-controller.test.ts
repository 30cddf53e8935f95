import { describe, expect, test } from 'vitest';
import type { OverallStatus } from '@webcapture/shared/contract/status.ts';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';
import { expectBalance } from './accounts-balance.ts';

const fleet = useFleet({ slots: 2, fronts: 2 });
const site = useSite();

const first = <T>(items: readonly T[], index = 0): T => {
  const item = items[index];
  if (item === undefined) throw new Error(`there is no item ${index}`);
  return item;
};

describe('a front', () => {
  test('that is killed in mid-capture loses nothing but the connection: the capture ends, and the other one tells of it', async () => {
    const { api, books, fronts, urls } = fleet();
    const before = await books.usage();
    const page = site().visit('/held');
    const lost = api.capture({ url: page.url }, { base: first(urls, 1) }).then(
      ({ status }) => status,
      () => 'connection lost',
    );
    await page.underWay(lost);
    await first(fronts, 1).kill('SIGKILL');
    expect(await lost).toBe('connection lost');
    page.release();
    const record = await until('the capture to be completed', async () =>
      (await books.records()).find(({ url, status }) => url === page.url && status === 'completed'),
    );
    const response = await api.get(`/captures/${record.uuid}`);
    const { data } = (await response.json()) as { data: { status: string; fileSizeBytes: number; fileUrl: string } };
    expect(data).toMatchObject({ status: 'completed', fileSizeBytes: record.outcome?.fileSizeBytes });
    const file = await api.request(data.fileUrl);
    expect((await file.arrayBuffer()).byteLength).toBe(data.fileSizeBytes);
    expect((await books.usage()).tokens - before.tokens).toBe(1);
    await expectBalance(fleet());
    await first(fronts, 1).start();
    const again = await api.captured({ url: site().url('/colour') }, { base: first(urls, 1) });
    expect(again.status).toBe('completed');
  });

  test('that is told to stop answers what it has, and refuses what is new', async () => {
    const { api, fronts, urls } = fleet();
    const front = first(fronts, 1);
    const base = first(urls, 1);
    const page = site().visit('/held');
    const capturing = api.captured({ url: page.url }, { base });
    await page.underWay(capturing);
    front.signal('SIGTERM');
    await until('it to be draining', async () => (await front.probe('/readyz')).status === 503);
    const late = await api.capture({ url: site().url('/colour') }, { base }).then(
      ({ status }) => status,
      () => 'not connected',
    );
    expect([429, 'not connected']).toContain(late);
    page.release();
    expect((await capturing).status).toBe('completed');
    await until('it to be gone', () => front.exit);
    expect(front.exit).toEqual({ code: 0, signal: null });
    await front.start();
  });
});

describe('the controller', () => {
  test('is not missed by captures while it is away, and takes up its work again', async () => {
    const { api, controller, operational, url } = fleet();
    await operational();
    await controller.kill('SIGKILL');
    const killedAt = performance.now();
    for (let round = 0; round < 3; round++) {
      const { picture } = await api.picture({ url: site().url('/colour') });
      expect(picture.share('#00ff00')).toBe(1);
    }
    // Its word is good for 30 s.
    const stale = await until(
      'the status to say that it is old',
      async () => {
        const response = await fetch(`${url}/status`);
        const body = (await response.json()) as OverallStatus;
        return response.status === 503 && body;
      },
      { deadlineMs: 60_000, intervalMs: 250 },
    );
    expect(performance.now() - killedAt).toBeGreaterThan(20_000);
    expect(stale.status).toBe('degraded_performance');
    await controller.start();
    await operational();
    await expectBalance(fleet());
  }, 120_000);

  test('that is told to stop goes in order', async () => {
    const { controller, operational } = fleet();
    expect(await controller.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    await controller.start();
    await operational();
  });
});
