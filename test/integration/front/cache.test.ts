import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { hashKey, Keys } from '../../../services/front/auth/keys.ts';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import { ticketOf } from '@webcapture/shared/queue/tickets.ts';
import { complete } from '@webcapture/shared/captures/transitions.ts';
import { newOutcome, withoutAnswerMs } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { startFronts, type Fronts } from './fronts.ts';
import { bytesOf, read } from './test-front.ts';

let fronts: Fronts;
beforeAll(async () => {
  fronts = await startFronts();
});
afterAll(() => fronts[Symbol.asyncDispose]());
beforeEach(() => {
  const { renderer } = fronts.front;
  renderer.behavior = (job, self) => self.complete(job);
});

const renders = () => fronts.front.renderer.jobs.length;
const fileOfLast = () => {
  const { renderer } = fronts.front;
  const job = renderer.jobs.at(-1);
  return job === undefined ? null : renderer.fileOf(job);
};

/** Returns the URL of a page that no other test requests. */
const newUrl = () => `https://example.com/${randomUUID()}`;

const cached = (url: string, ttl = 3600) => ({ url, responseCache: { enabled: true, ttl } });

/** Sends a capture to one front, with the preset key by default; returns the answer. */
async function ask(body: object, options: { front?: 0 | 1; key?: string; signal?: AbortSignal } = {}) {
  return read(await fronts.capture(options.front ?? 0, body, options));
}

async function metric(result: string): Promise<number> {
  const { values } = await (
    fronts.front.metrics.getSingleMetric('webcapture_front_cache_requests_total') ?? {
      get: async () => ({ values: [] }),
    }
  ).get();
  return values.find(({ labels }) => labels['result'] === result)?.value ?? 0;
}

describe('a second request', () => {
  test('is answered from the cache on any front, at no cost', async () => {
    const [url, before, hits] = [newUrl(), renders(), await metric('hit')];
    const first = await ask(cached(url));
    expect(first.body.data).toMatchObject({ fromCache: false, tokenCost: 1, status: 'completed' });
    for (const front of [0, 1, 0] as const) {
      const { status, headers, body } = await ask(cached(url), { front });
      expect(status).toBe(200);
      const { uuid, fileUrl, metadata, report, region } = withoutAnswerMs(first.body.data) ?? {};
      expect(body.data).toMatchObject({ fromCache: true, tokenCost: 0, uuid, fileUrl, metadata, report, region });
      expect(headers.get('x-capture-uuid')).toBe(uuid);
    }
    expect(renders() - before).toBe(1);
    expect((await metric('hit')) - hits).toBe(2);
  });

  test('without responseCache is rendered, and does not fill the cache', async () => {
    const [url, before] = [newUrl(), renders()];
    await ask({ url });
    expect((await ask(cached(url))).body.data).toMatchObject({ fromCache: false });
    expect((await ask({ url })).body.data).toMatchObject({ fromCache: false, tokenCost: 1 });
    expect(renders() - before).toBe(3);
  });

  test('is a hit with another responseType, cdnTtl or ttl, and a miss with other options', async () => {
    const [url, before] = [newUrl(), renders()];
    await ask(cached(url));
    const same = [{ cdnTtl: 100 }, { responseCache: { enabled: true, ttl: 100 } }, { quality: 5 }];
    for (const changes of same) {
      expect((await ask({ ...cached(url), ...changes })).body.data, JSON.stringify(changes)).toMatchObject({
        fromCache: true,
      });
    }
    for (const changes of [{ delay: 1 }, { region: 'us-east' }, { viewport: { width: 999 } }, { format: 'jpeg' }]) {
      expect((await ask({ ...cached(url), ...changes })).body.data).toMatchObject({ fromCache: false });
    }
    expect(renders() - before).toBe(5);
  });

  test('for HTML is a hit for the same HTML, raw or in base64', async () => {
    const html = `<p>${randomUUID()}</p>`;
    await ask({ html, responseCache: { enabled: true } });
    const again = { html: Buffer.from(html).toString('base64'), responseCache: { enabled: true } };
    expect((await ask(again)).body.data).toMatchObject({ fromCache: true });
  });

  test('of another account is rendered', async () => {
    const [url, before] = [newUrl(), renders()];
    await ask(cached(url));
    const key = await fronts.front.makeKey();
    expect((await ask(cached(url), { key })).body.data).toMatchObject({ fromCache: false });
    expect((await ask(cached(url), { key })).body.data).toMatchObject({ fromCache: true });
    expect(renders() - before).toBe(2);
  });

  test('for a file is answered with the cached bytes', async () => {
    const url = newUrl();
    const { data } = (await ask(cached(url))).body;
    const response = await fronts.capture(1, { ...cached(url), responseType: 'file' });
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(response.headers.get('x-capture-uuid')).toBe(data?.['uuid']);
    expect(await bytesOf(response)).toEqual(fileOfLast());
  });

  test('for a file is rendered if the file is gone, and its capture fills the cache', async () => {
    const [url, before] = [newUrl(), renders()];
    const { data } = (await ask(cached(url))).body;
    await fronts.front.renderer.store.remove(String(data?.['fileUrl']).split('/').at(-1) ?? '');
    const response = await fronts.capture(0, { ...cached(url), responseType: 'file' });
    expect([response.status, await bytesOf(response)]).toEqual([200, fileOfLast()]);
    const renewed = (await ask(cached(url), { front: 1 })).body.data;
    expect(renewed).toMatchObject({ fromCache: true });
    expect(renewed?.['uuid']).not.toBe(data?.['uuid']);
    expect(renders() - before).toBe(2);
  });
});

describe('a cached answer', () => {
  test('ends with its file', async () => {
    const url = newUrl();
    const { data } = (await ask(cached(url))).body;
    expect((await ask(cached(url))).body.data).toMatchObject({ fromCache: true });
    // The minimum lifetime of a file is a minute.
    await fronts.endIn(String(data?.['uuid']), 3000);
    await until('a miss', async () => (await ask(cached(url), { front: 1 })).body.data?.['fromCache'] === false, {
      deadlineMs: 6000,
    });
  });

  test('that is older than the ttl of a request is a miss for that request, and a hit for others', async () => {
    const url = newUrl();
    const { data } = (await ask(cached(url, 3600))).body;
    // Simulates the passage of time.
    await fronts.age(String(data?.['uuid']), 100_000);
    expect((await ask(cached(url, 101), { front: 1 })).body.data).toMatchObject({ uuid: data?.['uuid'] });
    const renewed = (await ask(cached(url, 99), { front: 1 })).body.data;
    expect(renewed).toMatchObject({ fromCache: false });
    expect((await ask(cached(url, 3600), { front: 1 })).body.data).toMatchObject({ uuid: renewed?.['uuid'] });
  });

  test('is kept no longer than the ttl of its request', async () => {
    const url = newUrl();
    await ask(cached(url, 60));
    const [entry] = await fronts.entriesOf(url);
    expect(entry?.done?.until).toBe((entry?.done?.record.outcome?.capturedAt ?? 0) + 60_000);
  });

  test('that was replaced or removed leaves the memory of the fronts soon', async () => {
    const url = newUrl();
    const { data } = (await ask(cached(url))).body;
    for (const front of [0, 1] as const) await ask(cached(url), { front });
    const record = (await fronts.entriesOf(url))[0]?.done?.record;
    await fronts.front.renderer.cache.drop('demo', record?.cache?.name ?? '', String(data?.['uuid']));
    await until(
      'both fronts to have heard of it',
      async () => {
        const answers = await Promise.all([ask(cached(url)), ask(cached(url), { front: 1 })]);
        return answers.every(({ body }) => body.data?.['uuid'] !== data?.['uuid']);
      },
      { deadlineMs: 1500 },
    );
  });
});

describe('a key', () => {
  test.each([
    ['revoked', { revokedAt: 1 }, 'API_KEY_REVOKED'],
    ['expired', { expiresAt: 1 }, 'API_KEY_EXPIRED'],
    ['without the scope', { scopes: ['read'] as const }, 'UNAUTHORIZED'],
  ])('that is %s gets no hit', async (_, changes, code) => {
    const url = newUrl();
    const account = `account-${randomUUID()}`;
    const key = await fronts.front.makeKey({ account });
    await ask(cached(url), { key });
    expect((await ask(cached(url), { key })).body.data).toMatchObject({ fromCache: true });
    await new Keys(fronts.front.nats.session).put(hashKey(key), {
      id: 'k',
      account,
      name: 'k',
      scopes,
      createdAt: 0,
      ...changes,
    });
    const refusal = await until(
      'the key to be refused',
      async () => {
        const answer = await ask(cached(url), { key });
        return answer.status === 401 && answer;
      },
      { deadlineMs: 1000 },
    );
    expect(refusal.body).toMatchObject({ error: { code }, data: null });
    expect(refusal.headers.get('x-capture-uuid')).toBeNull();
  });

  test('that is unknown gets no hit', async () => {
    const url = newUrl();
    await ask(cached(url));
    expect(await ask(cached(url), { key: 'an-unknown-key' })).toMatchObject({
      status: 401,
      body: { error: { code: 'UNAUTHORIZED' } },
    });
  });
});

describe('concurrent equal captures', () => {
  /** Sends twenty requests, ten to each front. */
  const twenty = (body: object) =>
    Promise.all(Array.from({ length: 20 }, (_, n) => ask(body, { front: n % 2 === 0 ? 0 : 1 })));
  const slowly = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  /** Waits until all twenty requests have arrived and have had time to find the one that renders. */
  const allAreThere = async (requestsBefore: number) => {
    await until('all requests', () => fronts.requests() - requestsBefore >= 20);
    await slowly(200);
  };

  test('on two fronts are rendered once', async () => {
    const [url, before] = [newUrl(), renders()];
    fronts.front.renderer.behavior = async (job, self) => {
      await slowly(300);
      await self.complete(job);
    };
    const answers = await twenty(cached(url));
    expect(renders() - before).toBe(1);
    expect(new Set(answers.map(({ body }) => body.data?.['uuid'])).size).toBe(1);
    expect(answers.filter(({ body }) => body.data?.['fromCache'] === false)).toHaveLength(1);
    expect(answers.reduce((sum, { body }) => sum + Number(body.data?.['tokenCost']), 0)).toBe(1);
  });

  test('are answered from the record if the cache is not filled', async () => {
    const [url, before] = [newUrl(), renders()];
    fronts.front.renderer.behavior = async (job, self) => {
      await slowly(300);
      // Settles the capture like a front that dies before it updates the cache.
      const upload = await self.upload(job);
      const outcome = newOutcome({ object: upload.object, fileSizeBytes: upload.size });
      await self.captures.end(ticketOf(job), complete(0, outcome, upload.expiresAt));
    };
    const answers = await twenty(cached(url));
    expect(renders() - before).toBe(1);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
  });

  test('are rendered again if the first fails', async () => {
    const [url, before, requests] = [newUrl(), renders(), fronts.requests()];
    fronts.front.renderer.behavior = async (job, self) => {
      await allAreThere(requests);
      if (renders() - before === 1) await self.fail(job, 'NAVIGATION_FAILED', 'The page is not there.');
      else await self.complete(job);
    };
    const answers = await twenty(cached(url));
    expect(renders() - before).toBe(2);
    expect(answers.filter(({ status }) => status === 500)).toHaveLength(1);
    const good = answers.filter(({ status }) => status === 200);
    expect(good).toHaveLength(19);
    expect(good.filter(({ body }) => body.data?.['fromCache'] === false)).toHaveLength(1);
  });

  test('all fail if the second one fails too', async () => {
    const [url, before, requests] = [newUrl(), renders(), fronts.requests()];
    fronts.front.renderer.behavior = async (job, self) => {
      await allAreThere(requests);
      await self.fail(job, 'NAVIGATION_FAILED', 'The page is not there.');
    };
    const answers = await twenty(cached(url));
    expect(renders() - before).toBe(2);
    expect(answers.every(({ body }) => body.error?.code === 'NAVIGATION_FAILED')).toBe(true);
    // No lease may block the next request.
    fronts.front.renderer.behavior = (job, self) => self.complete(job);
    expect((await ask(cached(url))).body.data).toMatchObject({ fromCache: false });
  });

  test('of different accounts are rendered for each', async () => {
    const [url, before] = [newUrl(), renders()];
    fronts.front.renderer.behavior = async (job, self) => {
      await slowly(200);
      await self.complete(job);
    };
    const keys = await Promise.all([fronts.front.makeKey(), fronts.front.makeKey()]);
    const answers = await Promise.all(keys.map((key) => ask(cached(url), { key })));
    expect(answers.map(({ body }) => body.data?.['fromCache'])).toEqual([false, false]);
    expect(renders() - before).toBe(2);
  });

  test('complete even if the first client disconnects', async () => {
    const [url, before] = [newUrl(), renders()];
    const hold = Promise.withResolvers<undefined>();
    fronts.front.renderer.behavior = async (job, self) => {
      await hold.promise;
      await self.complete(job);
    };
    const aborter = new AbortController();
    const first = ask(cached(url), { signal: aborter.signal }).catch(() => null);
    await until('the first to be rendered', () => renders() - before === 1);
    const second = ask(cached(url), { front: 1 });
    await slowly(100);
    aborter.abort();
    expect(await first).toBeNull();
    hold.resolve(undefined);
    expect((await second).body.data).toMatchObject({ fromCache: true });
    expect(renders() - before).toBe(1);
  });
});

test('the lease of a front that died before its capture was accepted expires', async () => {
  const url = newUrl();
  const first = (await ask(cached(url))).body.data;
  const name = (await fronts.entriesOf(url))[0]?.done?.record.cache?.name ?? '';
  // A UUIDv7 of a time 20 seconds ago that has no record.
  const stamp = (Date.now() - 20_000).toString(16).padStart(12, '0');
  const uuid = `${stamp.slice(0, 8)}-${stamp.slice(8)}-7000-8000-000000000000`;
  // The lease that a front leaves if it has not queued its capture yet.
  const lease = { uuid, until: Date.now() + 2000 };
  await new Entries(fronts.front.nats.session, 'cache').put(`demo.${name}`, { done: null, lease });
  const second = (await ask(cached(url), { front: 1 })).body.data;
  expect(second).toMatchObject({ fromCache: false });
  expect(second?.['uuid']).not.toBe(first?.['uuid']);
});
