// @module-tag long
import { describe, expect, test } from 'vitest';
import type { StatusHistory } from '@webcapture/shared/api/status-history.ts';
import type { OverallStatus } from '@webcapture/shared/api/status.ts';
import { until } from '../harness/until.ts';
import { adminToken, useFleet, useSite } from '../harness/use.ts';
import { expectBalance } from './accounts-balance.ts';

const fleet = useFleet({
  slots: 2,
  fronts: 2,
  env: { WEBCAPTURE_MIN_REFRESH_INTERVAL: '1', WEBCAPTURE_ADMIN_TOKEN: adminToken },
});
const site = useSite();

const first = <T>(items: readonly T[], index = 0): T => {
  const item = items[index];
  if (item === undefined) throw new Error(`there is no item ${index}`);
  return item;
};

describe('a front', () => {
  test('killed during a capture loses only the connection: the capture completes, and the other front returns it', async () => {
    const { api, usageCheck, fronts, url, urls } = fleet();
    const before = await usageCheck.usage();
    // Near the limit the reservation has an id, and lasts until the deadline of the capture unless it is released.
    const limited = await fetch(`${url}/admin/accounts/demo`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ maxInFlight: 3 }),
    });
    expect(limited.status).toBe(200);
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
      (await usageCheck.records()).find(({ url, status }) => url === page.url && status === 'completed'),
    );
    const inFlight = async () => {
      const { data } = (await (await api.get('/usage')).json()) as { data: { inFlight: number } };
      return data.inFlight;
    };
    await until('the reservation to be released', async () => (await inFlight()) === 0, { deadlineMs: 10_000 });
    const response = await api.get(`/captures/${record.uuid}`);
    const { data } = (await response.json()) as { data: { status: string; fileSizeBytes: number; fileUrl: string } };
    expect(data).toMatchObject({ status: 'completed', fileSizeBytes: record.outcome?.fileSizeBytes });
    const file = await api.request(data.fileUrl);
    expect((await file.arrayBuffer()).byteLength).toBe(data.fileSizeBytes);
    expect((await usageCheck.usage()).tokens - before.tokens).toBe(1);
    await expectBalance(fleet());
    await first(fronts, 1).start();
    const again = await api.captured({ url: site().url('/color') }, { base: first(urls, 1) });
    expect(again.status).toBe('completed');
  });

  test('after SIGTERM completes its captures, and accepts none after it has stopped listening', async () => {
    const { api, fronts, urls } = fleet();
    const front = first(fronts, 1);
    const base = first(urls, 1);
    const page = site().visit('/held');
    const capturing = api.captured({ url: page.url }, { base });
    await page.underWay(capturing);
    front.signal('SIGTERM');
    // Captures that arrive before the front has stopped listening still complete.
    const late: number[] = [];
    await until('it to refuse connections', async () => {
      const answer = await api.capture({ url: site().url('/color') }, { base }).catch(() => null);
      if (answer !== null) late.push(answer.status);
      return answer === null;
    });
    expect(late.filter((status) => status !== 200)).toEqual([]);
    page.release();
    expect((await capturing).status).toBe('completed');
    await until('it to exit', () => front.exit);
    expect(front.exit).toEqual({ code: 0, signal: null });
    await front.start();
  });
});

describe('the controller', () => {
  test('killed for a minute: captures work, and overdue tasks run once after its restart', async () => {
    const { api, usageCheck, controller, operational, url } = fleet();
    await operational();
    const intervalMs = 45_000;
    const cached = { url: site().url('/color'), cdnTtl: 61, responseCache: { enabled: true } };
    const short = await api.captured(cached);
    const persistence = { enabled: true, refreshInterval: intervalMs / 1000 };
    const lasting = await api.captured({ url: site().url('/quadrants'), persistence });
    const history = async () => (await (await fetch(`${url}/status/history.json`)).json()) as StatusHistory;
    const unseenSeconds = ({ components }: StatusHistory) =>
      components
        .filter(({ name }) => name === 'queue')
        .flatMap(({ days }) => days.map(({ noData = 0 }) => noData))
        .reduce((sum, each) => sum + each, 0);
    const before = await until('the history to start', async () => {
      const found = await history();
      return found.components.length > 0 && found;
    });
    await controller.kill('SIGKILL');
    const killedAt = performance.now();
    for (let round = 0; round < 3; round++) {
      const { picture } = await api.picture({ url: site().url('/color') });
      expect(picture.share('#00ff00')).toBe(1);
    }
    // A status report is valid for 30 s.
    const stale = await until(
      'the status to be stale',
      async () => {
        const response = await fetch(`${url}/status`);
        const body = (await response.json()) as OverallStatus;
        return response.status === 503 && body;
      },
      { intervalMs: 250 },
    );
    expect(performance.now() - killedAt).toBeGreaterThan(20_000);
    expect(stale.status).toBe('degraded_performance');
    // A file cannot be read after its expiry, even without a controller.
    await until('the file to expire', async () => (await api.request(short.fileUrl)).status === 404, {
      deadlineMs: 60_000,
      intervalMs: 500,
    });
    expect(await usageCheck.record(lasting.uuid)).not.toHaveProperty('refresh');
    // The history has no data for this time.
    expect(unseenSeconds(await history()) - unseenSeconds(before)).toBeGreaterThan(20);
    await controller.start();
    const refreshed = await until('the refresh that was due', async () => {
      const record = await usageCheck.record(lasting.uuid);
      return record?.refresh?.state === 'completed' && record;
    });
    expect(refreshed.refresh?.revision).toBe(1);
    // The next refresh keeps the original schedule, although the last one was late.
    expect(((refreshed.nextRefreshAt ?? 0) - Date.parse(lasting.metadata.capturedAt)) % intervalMs).toBe(0);
    await until('the record to be expired', async () => (await usageCheck.record(short.uuid))?.status === 'expired');
    expect(await api.captured(cached)).toMatchObject({ fromCache: false, tokenCost: 1 });
    await operational();
    await expectBalance(fleet());
    // All components were operational in the meantime, so the restart adds no incident.
    expect((await history()).incidents).toEqual(before.incidents);
  });

  test('after SIGTERM exits with 0, and works after a restart', async () => {
    const { controller, operational } = fleet();
    expect(await controller.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    await controller.start();
    await operational();
  });
});
