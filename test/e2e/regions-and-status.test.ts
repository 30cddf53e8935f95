// @module-tag long
import { afterEach, describe, expect, test } from 'vitest';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { StatusHistory } from '@webcapture/shared/api/status-history.ts';
import type { ComponentStatus, OverallStatus } from '@webcapture/shared/api/status.ts';
import { outcomeOf } from '../harness/api.ts';
import { AnswerCheck } from '../harness/openapi.ts';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet({
  regions: 'us-east:1,eu-west:1',
  slots: 1,
  env: { WEBCAPTURE_HOME_REGION: 'eu-west', WEBCAPTURE_QUEUE_TIMEOUT: '20' },
});
const site = useSite();

async function overall(): Promise<{ code: number; status: OverallStatus }> {
  const response = await fleet().api.request('/status');
  return { code: response.status, status: (await response.json()) as OverallStatus };
}

async function engine(): Promise<{ code: number; status: ComponentStatus }> {
  const response = await fleet().api.request('/status/engine');
  return { code: response.status, status: (await response.json()) as ComponentStatus };
}

const component = (status: OverallStatus, name: string) =>
  status.components?.find((part) => part.name === name)?.status;

/** Waits until all renderers of a region report that their slots are free; they report every two seconds. */
async function idle(...regions: Region[]): Promise<void> {
  for (const region of regions) {
    await until(`${region} to be idle`, () => {
      const pods = fleet().usageCheck.serving(region);
      return pods.length > 0 && pods.every(({ busy }) => busy === 0);
    });
  }
}

/** Restarts the processes that a test has stopped. */
afterEach(async () => {
  for (const part of fleet().renderers) if (part.exit !== undefined) await part.start();
});

describe('region', () => {
  test.for(['us-east', 'eu-west'] as const)('%s renders the capture, and the response names it', async (region) => {
    const { data, picture } = await fleet().api.picture({ url: site().url('/color'), region });
    expect(data.region).toBe(region);
    expect(picture.share('#00ff00')).toBe(1);
    await until('its renderer to log it', () => fleet().renderer(region).logs().includes(data.uuid));
    const other = region === 'us-east' ? 'eu-west' : 'us-east';
    expect(fleet().renderer(other).logs()).not.toContain(data.uuid);
  });

  test('auto, the default, selects the home region if it has a free slot', async () => {
    for (const body of [{ url: site().url('/color') }, { url: site().url('/color'), region: 'auto' }]) {
      await idle('eu-west', 'us-east');
      expect((await fleet().api.captured(body)).region).toBe('eu-west');
    }
  });

  test('auto selects the other region if the home region is busy', async () => {
    await idle('us-east');
    const held = site().visit('/held');
    const busy = fleet().api.captured({ url: held.url, region: 'eu-west' });
    await held.underWay(busy);
    await until('the busy slot to be reported', () =>
      fleet()
        .usageCheck.serving('eu-west')
        .some(({ busy: slots }) => slots === 1),
    );
    const data = await fleet().api.captured({ url: site().url('/color') });
    held.release();
    expect(data.region).toBe('us-east');
    expect((await busy).region).toBe('eu-west');
  });

  test('a named region waits for a renderer of that region, even if another region has free slots', async () => {
    const held = site().visit('/held');
    const waiting = site().visit('/color');
    const busy = fleet().api.captured({ url: held.url, region: 'eu-west' });
    await held.underWay(busy);
    const queued = fleet().api.captured({ url: waiting.url, region: 'eu-west' });
    await until('the job to be queued', async () => (await fleet().usageCheck.queued()) >= 2);
    expect(waiting.requests).toEqual([]);
    held.release();
    expect((await busy).region).toBe('eu-west');
    const data = await queued;
    expect(data.region).toBe('eu-west');
    expect(data.report.timings.queueMs).toBeGreaterThan(0);
  });

  test.for(['us-west', 'eu-central', 'asia-east', 'asia-southeast'])(
    '%s is not installed, and is rejected immediately',
    async (region) => {
      const refusal = await fleet().api.refused({ url: site().url('/color'), region });
      expect(refusal).toMatchObject({ status: 500, code: 'REGION_UNAVAILABLE' });
      expect(refusal.message).toContain(region);
      // The capture fails without waiting in the queue, where it would have a minute.
      expect(refusal.ms).toBeLessThan(20_000);
    },
  );
});

describe('status', () => {
  test('is 200 and operational, without a key, if everything works', async () => {
    await fleet().operational();
    const { code, status } = await overall();
    expect(code).toBe(200);
    expect(status.status).toBe('operational');
    const names = status.components?.map(({ name }) => name).toSorted();
    expect(names).toEqual(['api', 'engine', 'engine.eu-west', 'engine.us-east', 'queue', 'storage']);
    for (const part of status.components ?? []) {
      expect(part.status).toBe('operational');
      expect(Math.abs(Date.now() - Date.parse(part.lastCheckedAt))).toBeLessThan(30_000);
    }
    expect(Math.abs(Date.now() - Date.parse(status.lastCheckedAt))).toBeLessThan(30_000);

    const engineStatus = await engine();
    expect(engineStatus.code).toBe(200);
    expect(engineStatus.status).toMatchObject({ name: 'engine', status: 'operational' });
    const check = await AnswerCheck.load(`${fleet().url}/openapi.json`);
    const json = { method: 'GET', status: 200, mediaType: 'application/json' };
    expect(check.problems({ ...json, path: '/status', body: status })).toEqual([]);
    expect(check.problems({ ...json, path: '/status/engine', body: engineStatus.status })).toEqual([]);
  });

  test('reports a dead renderer within 10 s, names its region, and recovers', async () => {
    const { api, renderer } = fleet();
    await fleet().operational();
    const killedAt = performance.now();
    const killedTime = Date.now();
    await renderer('us-east').kill('SIGKILL');
    const { status } = await until(
      '/status to turn',
      async () => {
        const seen = await overall();
        return seen.code === 503 && seen;
      },
      { intervalMs: 100 },
    );
    expect(performance.now() - killedAt).toBeLessThan(10_000);
    expect(component(status, 'engine.us-east')).toBe('major_outage');
    expect(component(status, 'engine.eu-west')).toBe('operational');
    expect(component(status, 'engine')).toBe('partial_outage');
    // The overall status is that of the worst component.
    expect(status.status).toBe('major_outage');
    const broken = await engine();
    expect(broken).toMatchObject({ code: 503, status: { name: 'engine', status: 'partial_outage' } });
    expect(broken.status.message).toMatch(/us-east/);
    const check = await AnswerCheck.load(`${fleet().url}/openapi.json`);
    const json = { method: 'GET', status: 503, mediaType: 'application/json' };
    expect(check.problems({ ...json, path: '/status', body: status })).toEqual([]);
    expect(check.problems({ ...json, path: '/status/engine', body: broken.status })).toEqual([]);

    // The region fails immediately, and auto avoids it.
    const refusal = await api.refused({ url: site().url('/color'), region: 'us-east' });
    expect(refusal).toMatchObject({ status: 500, code: 'REGION_UNAVAILABLE' });
    expect(refusal.ms).toBeLessThan(20_000);
    expect((await api.captured({ url: site().url('/color') })).region).toBe('eu-west');

    await renderer('us-east').start();
    await fleet().serving('us-east', 1);
    await fleet().operational();
    expect((await api.captured({ url: site().url('/color'), region: 'us-east' })).region).toBe('us-east');

    const incident = await until('the incident to end', async () => {
      const response = await api.request('/status/history.json');
      const history = (await response.json()) as StatusHistory;
      expect(check.problems({ ...json, status: 200, path: '/status/history.json', body: history })).toEqual([]);
      const latest = history.incidents.find(({ component: name }) => name === 'engine.us-east');
      return Date.parse(latest?.endedAt ?? '') > killedTime && latest;
    });
    expect(incident.status).toBe('major_outage');
    expect(incident.message).toMatch(/^0 of 1 renderers healthy/);
    // The incident may have started with a lower severity.
    const outage = incident.updates.find(({ status: state }) => state === 'major_outage');
    expect(Date.parse(outage?.at ?? '')).toBeGreaterThan(killedTime - 1000);
    expect(await (await api.request('/status/feed.xml')).text()).toContain('<title>US East: major outage (resolved)');
    expect(await (await api.request('/status.html')).text()).toContain(`id="${incident.id}"`);
  });

  test('a capture that waits for a dead renderer does not wait forever', async () => {
    const { api, usageCheck, renderer, serving } = fleet();
    const before = await usageCheck.usage();
    const held = site().visit('/held');
    const rendering = api.capture({ url: held.url, region: 'us-east' });
    await held.underWay(rendering);
    const start = performance.now();
    const queued = api.capture({ url: site().url('/color'), region: 'us-east' });
    await until('the job to be queued', async () => (await fleet().usageCheck.queued()) >= 2);
    await renderer('us-east').kill('SIGKILL');
    const answer = await queued;
    expect(answer.status).toBe(500);
    expect(['REGION_UNAVAILABLE', 'CAPTURE_TIMEOUT']).toContain(answer.body?.error?.code);
    expect(performance.now() - start).toBeLessThan(30_000);

    held.release();
    await renderer('us-east').start();
    await serving('us-east', 1);
    // The capture that was being rendered is not lost. It is redelivered and charged, unless its client was told that it failed.
    const outcome = outcomeOf(await rendering);
    expect(['completed', 'REGION_UNAVAILABLE', 'CAPTURE_TIMEOUT']).toContain(outcome);
    await until('the queue to be empty', async () => (await usageCheck.queued()) === 0);
    expect((await usageCheck.usage()).tokens - before.tokens).toBe(outcome === 'completed' ? 1 : 0);
  });

  test('reports a major outage if no region is left', async () => {
    const { renderer, operational } = fleet();
    await operational();
    await Promise.all([renderer('us-east').kill('SIGKILL'), renderer('eu-west').kill('SIGKILL')]);
    const { status } = await until(
      'a major outage',
      async () => {
        const seen = await overall();
        return component(seen.status, 'engine') === 'major_outage' && seen;
      },
      { intervalMs: 100 },
    );
    expect(status.status).toBe('major_outage');
    const refusal = await fleet().api.refused({ url: site().url('/color') });
    expect(refusal).toMatchObject({ status: 500, code: 'REGION_UNAVAILABLE' });
    await Promise.all([renderer('us-east').start(), renderer('eu-west').start()]);
    await operational();
  });

  test('a renderer that is told to stop finishes its captures and takes no new ones', async () => {
    const { api, renderer } = fleet();
    await fleet().operational();
    const held = site().visit('/held');
    const capturing = api.captured({ url: held.url, region: 'us-east' });
    await held.underWay(capturing);
    const part = renderer('us-east');
    part.signal('SIGTERM');
    await until('the renderer to be draining', async () => (await part.probe('/readyz')).status === 503);
    await fleet().serving('us-east', 0);
    const refusal = await api.refused({ url: site().url('/color'), region: 'us-east' });
    expect(refusal.code).toBe('REGION_UNAVAILABLE');
    held.release();
    expect((await capturing).region).toBe('us-east');
    await until('the renderer to exit', () => part.exit);
    expect(part.exit).toEqual({ code: 0, signal: null });
    await part.start();
    await fleet().serving('us-east', 1);
  });
});
