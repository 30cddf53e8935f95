import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { captureResultSchema, captureStateSchema } from '@webcapture/shared/api/capture.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { readHtml } from '@webcapture/shared/files/stored-html.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { captureJobVersion } from '@webcapture/shared/queue/job.ts';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { addDurables } from '../../../services/controller/streams.ts';
import { completedBy } from '../../harness/settling.ts';
import { withoutAnswerMs } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { bytesOf, presetKey, read, type TestFront, startTestFront, whenHeard } from './test-front.ts';

let front: TestFront;
beforeAll(async () => {
  front = await startTestFront({ WEBCAPTURE_REGIONS: 'us-east:1,eu-west:1,us-west:0' }, { maxPayload: 1024 * 1024 });
});
afterAll(() => front[Symbol.asyncDispose]());
beforeEach(() => {
  front.renderer.behavior = (job, renderer) => renderer.complete(job);
  front.renderer.bytes = Buffer.from('the bytes of a picture');
  front.renderer.jobs.length = 0;
});

const ajv = new Ajv({ strict: false });
(addFormats as unknown as typeof addFormats.default)(ajv);
const isResult = ajv.compile(captureResultSchema);
const isState = ajv.compile(captureStateSchema);

const url = 'https://example.com/page?a=1#top';
const lastJob = () => front.renderer.jobs.at(-1);
const fileOfLast = () => {
  const job = lastJob();
  return job === undefined ? null : front.renderer.fileOf(job);
};
const state = async (uuid: unknown, key = presetKey) => read(await front.call(`/captures/${String(uuid)}`, { key }));

async function messages(stream: string, filter: string): Promise<number> {
  const info = await front.nats.session.jsm.streams.info(stream, { subjects_filter: filter });
  return Object.keys(info.state.subjects ?? {}).length;
}

describe('a capture that completes', () => {
  test('is answered with data that matches the schema', async () => {
    const { status, headers, body } = await read(await front.capture({ url, cdnTtl: 100 }));
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: true, error: null });
    expect(isResult(body.data), JSON.stringify(isResult.errors)).toBe(true);
    const job = lastJob();
    expect(headers.get('x-capture-uuid')).toBe(body.data?.['uuid']);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(body.data).toMatchObject({
      uuid: job?.uuid,
      status: 'completed',
      fileUrl: `https://cdn.test/${job?.file.object}`,
      fromCache: false,
      tokenCost: 1,
      fileSizeBytes: fileOfLast()?.length,
      region: 'us-east',
      metadata: { url, format: 'png', mimeType: 'image/png', fullPage: false, width: 1280, height: 720 },
    });
    expect(body.data?.['processingTimeMs']).toBeLessThan(20_000);
  });

  test('reaches the renderer with every option and default', async () => {
    const before = Date.now();
    await front.capture({ url, viewport: { width: 800 }, delay: 7, antiBot: true, block: { ads: true } });
    const job = lastJob();
    expect(job).toMatchObject({
      version: captureJobVersion,
      revision: 0,
      account: 'demo',
      region: 'us-east',
      priority: 'interactive',
      reply: { wants: 'result' },
      source: { kind: 'url', url },
      options: {
        format: 'png',
        viewport: { width: 800, height: 720, deviceScaleFactor: 1 },
        isFullPage: false,
        quality: 80,
        colorScheme: 'light',
        timeout: 30_000,
        waitUntil: 'load',
        imageTimeout: 3000,
        delay: 7,
        antiBot: true,
        block: { ...blockNothing, ads: true },
        pdf: { paper: 'A4', margin: { top: 10, right: 10, bottom: 10, left: 10 } },
      },
    });
    expect(job?.acceptedAt).toBeGreaterThanOrEqual(before);
    expect(job?.startBy).toBe((job?.acceptedAt ?? 0) + 60_000);
    expect(job?.deadline).toBe((job?.startBy ?? 0) + 30_000 + 3000 + 7 + 60_000);
  });

  test('costs two tokens with antiBot', async () => {
    expect((await read(await front.capture({ url, antiBot: true }))).body.data).toMatchObject({ tokenCost: 2 });
  });

  test('is answered as a file with the bytes of the reply', async () => {
    const reading = vi.spyOn(EmbeddedStore.prototype, 'read');
    onTestFinished(() => reading.mockRestore());
    const response = await front.capture({ url, responseType: 'file', format: 'webp' });
    const { uuid } = lastJob() ?? {};
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/webp',
      'content-length': String(fileOfLast()?.length),
      'x-capture-uuid': uuid,
      'content-disposition': `inline; filename="capture-${uuid}.webp"`,
      'x-content-type-options': 'nosniff',
    });
    expect(await bytesOf(response)).toEqual(fileOfLast());
    expect(reading).not.toHaveBeenCalled();
  });

  test('is answered with the stored bytes if the reply has other bytes of the same length and type', async () => {
    let stored: Buffer | undefined;
    front.renderer.behavior = async (job, renderer) => {
      const outcome = completedBy(await renderer.upload(job));
      stored = renderer.fileOf(job);
      renderer.bytes = Buffer.from('THE BYTES OF A PICTURE');
      renderer.tell(job, outcome);
      await renderer.publish(job, outcome);
    };
    const response = await front.capture({ url, responseType: 'file', format: 'webp' });
    expect(await bytesOf(response)).toEqual(stored);
    expect(stored).not.toEqual(fileOfLast());
  });

  test('is answered from the store if the file is too large for the reply', async () => {
    front.renderer.bytes = Buffer.alloc((front.nats.session.nc.info?.max_payload ?? 0) + 1, 'ab');
    const response = await front.capture({ url, responseType: 'file' });
    expect(response.headers.get('content-length')).toBe(String(fileOfLast()?.length));
    expect(fileOfLast()?.equals(await bytesOf(response))).toBe(true);
  });

  test('is answered a little later if the reply is lost', async () => {
    front.renderer.behavior = (job, renderer) => renderer.complete(job, { silently: true });
    const start = performance.now();
    const response = await front.capture({ url, responseType: 'file' });
    expect([response.status, await bytesOf(response)]).toEqual([200, fileOfLast()]);
    // The result is stored after half a second, and the record is read every two seconds.
    expect(performance.now() - start).toBeLessThan(5000);
  });

  test('is answered even if invalid replies arrive', async () => {
    front.renderer.behavior = async (job, renderer) => {
      const say = (words: string) => renderer.session.nc.publish(job.reply?.subject ?? '', words);
      say('nonsense');
      say(`${JSON.stringify({ ticket: job.ticket, outcome: { kind: 'completed' } })}\n`);
      renderer.tell(
        { ...job, ticket: 'forged' },
        { kind: 'failed', code: 'CAPTURE_FAILED', message: 'Forged.', cause: 'service' },
      );
      await renderer.complete(job);
      renderer.tell(job, { kind: 'failed', code: 'CAPTURE_FAILED', message: 'Too late.', cause: 'service' });
    };
    expect((await read(await front.capture({ url }))).body).toMatchObject({ error: null, success: true });
  });

  test('is not confused with concurrent captures', async () => {
    const urls = Array.from({ length: 40 }, (_, index) => `https://example.com/${index}`);
    const answers = await Promise.all(urls.map(async (each) => read(await front.capture({ url: each }))));
    const metadata = answers.map(({ body }) => body.data?.['metadata'] as { url: string });
    expect(metadata.map((each) => each.url)).toEqual(urls);
    expect(new Set(answers.map(({ body }) => body.data?.['uuid'])).size).toBe(40);
  });
});

describe('a capture with an event stream', () => {
  const accept = { accept: 'text/event-stream', 'content-type': 'application/json' };
  const follow = async (body: object) => {
    const init = { method: 'POST', headers: accept, body: JSON.stringify(body) };
    const response = await front.call('/capture', init);
    const events = (await response.clone().text()).matchAll(/^event: (.*)\ndata: (.*)\n\n/gm);
    return { response, events: [...events].map(([, name, data = '']) => [name, JSON.parse(data)]) };
  };
  const steps = (events: readonly unknown[][]) =>
    events.filter(([name]) => name === 'progress').map(([, data]) => (data as { step: string }).step);

  test('reports each step, also after its job is returned, and then the result', async () => {
    front.renderer.behavior = async (job, renderer) => {
      renderer.begin(job);
      const isFirst = front.renderer.jobs.length === 1;
      if (isFirst) return renderer.publish(job, { kind: 'returned', reason: 'shutting_down' });
      renderer.tell(job, { kind: 'rendered' });
      return renderer.complete(job);
    };
    const { response, events } = await follow({ url });
    const uuid = lastJob()?.uuid;
    expect(lastJob()?.reply).toMatchObject({ wants: 'result', progress: true });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-capture-uuid': uuid,
      'x-ratelimit-limit': expect.any(String) as string,
    });
    expect(steps(events)).toEqual(['queued', 'rendering', 'queued', 'rendering', 'storing']);
    expect(events[0]).toEqual(['progress', { uuid, region: 'us-east', step: 'queued' }]);
    expect(events.at(-1)).toMatchObject(['result', { success: true, data: { uuid, status: 'completed' } }]);
  });

  test('reports a failure as an event, and a failure before queueing as a status', async () => {
    front.renderer.behavior = (job, renderer) => renderer.fail(job, 'NAVIGATION_FAILED', 'There is no such host.');
    const { response, events } = await follow({ url });
    expect([response.status, steps(events)]).toEqual([200, ['queued']]);
    expect(events.at(-1)).toEqual(['error', { code: 'NAVIGATION_FAILED', message: 'There is no such host.' }]);
    const refused = await follow({ url: 'nowhere' });
    expect(refused.response.status).toBe(400);
    expect((await read(refused.response)).body.error?.code).toBe('VALIDATION_ERROR');
  });

  test('reports only the result if it comes from the cache', async () => {
    const body = { url, responseCache: { enabled: true }, delay: 3 };
    const first = await follow(body);
    const second = await follow(body);
    expect(steps(first.events)).toEqual(['queued']);
    expect(second.events).toMatchObject([['result', { data: { fromCache: true } }]]);
  });

  test('the job of a capture without an event stream requests no progress', async () => {
    await front.capture({ url });
    expect(lastJob()?.reply).not.toHaveProperty('progress');
  });
});

describe('a capture that fails', () => {
  test('is answered with its code, its message and its uuid', async () => {
    front.renderer.behavior = (job, renderer) => renderer.fail(job, 'NAVIGATION_FAILED', 'There is no such host.');
    const { status, headers, body } = await read(await front.capture({ url, responseType: 'file' }));
    expect(status).toBe(500);
    expect(body).toEqual({
      success: false,
      error: { code: 'NAVIGATION_FAILED', message: 'There is no such host.' },
      data: null,
    });
    const found = await state(headers.get('x-capture-uuid'));
    expect(isState(found.body.data), JSON.stringify(isState.errors)).toBe(true);
    expect(found.body.data).toMatchObject({ status: 'failed', tokenCost: 0, error: body.error });
  });
});

describe('a client that disconnects', () => {
  test('before rendering begins cancels its capture, pays nothing and releases its reservation at once', async () => {
    const queued = () => messages(streamNames.captures, 'captures.us-west.>');
    const usage = async () => (await read(await front.call('/usage'))).body.data;
    const before = await usage();
    const aborter = new AbortController();
    const answer = front.capture({ url, region: 'us-west' }, { signal: aborter.signal });
    await until('the job to be queued', async () => (await queued()) === 1);
    expect(await usage()).toMatchObject({ inFlight: 1 });
    aborter.abort();
    await expect(answer).rejects.toThrow();
    await until('the job to leave the queue', async () => (await queued()) === 0);
    await until('the place to be free', async () => (await usage())?.['inFlight'] === 0, { deadlineMs: 2000 });
    expect(await usage()).toMatchObject({ tokensUsed: before?.['tokensUsed'], tokensReserved: 0 });
  });

  test('after rendering has begun lets its capture end', async () => {
    const aborter = new AbortController();
    let release = () => undefined as void;
    const released = new Promise<void>((resolve) => (release = resolve));
    front.renderer.behavior = async (job, renderer) => {
      await released;
      await renderer.complete(job);
    };
    const answer = front.capture({ url }, { signal: aborter.signal });
    const job = await until('the job to be pulled', lastJob);
    aborter.abort();
    await expect(answer).rejects.toThrow();
    // A capture gets a record when it ends.
    expect((await state(job.uuid)).status).toBe(404);
    const metrics = () => front.metrics.metrics();
    await until('the front to have noticed', async () =>
      /captures_total\{outcome="client_gone",cause="none",region="us-east",format="png"\} 1/.test(await metrics()),
    );
    release();
    const ended = await until('the end', async () => {
      const found = await state(job.uuid);
      return found.status === 200 && found.body;
    });
    expect(isState(ended.data), JSON.stringify(isState.errors)).toBe(true);
    expect(ended.data).toMatchObject({ status: 'completed', tokenCost: 1 });
    expect(await metrics()).toMatch(
      /captures_total\{outcome="client_gone",cause="none",region="us-east",format="png"\} 1/,
    );
    await until('none in flight', async () => /captures_in_flight\{region="us-east"\} 0/.test(await metrics()));
  });
});

describe('html', () => {
  test('is part of the job if it fits', async () => {
    const html = Buffer.from('<h1>Grüße</h1>').toString('base64');
    const { body } = await read(await front.capture({ html }));
    expect(lastJob()?.source).toEqual({ kind: 'html', html: '<h1>Grüße</h1>' });
    expect(body.data).toMatchObject({ metadata: { url: 'about:blank' } });
  });

  test.each([
    ['more than a message holds', 'a', 1_048_575],
    ['characters that take six bytes in JSON', '\u0001', 300_000],
    ['the longest there is', '\u{1F600}', 1_048_575],
  ])('of %s arrives, and the stored copy is removed', async (_name, character, count) => {
    const html = `<${character.repeat(count)}`;
    let arrived: string | undefined;
    front.renderer.behavior = async (job, renderer) => {
      const { source } = job;
      if (source.kind === 'stored-html') {
        arrived = await readHtml(renderer.session, { region: source.region, name: source.fileName });
      }
      await renderer.complete(job);
    };
    expect((await front.capture({ html })).status).toBe(200);
    expect(arrived === html).toBe(true);
    await until('the stored HTML to be deleted', async () => (await messages(streamNames.files, 'files.html.>')) === 0);
  });
});

describe('regions', () => {
  test('a region that is not installed is refused at once', async () => {
    const { status, body } = await read(await front.capture({ url, region: 'asia-east' }));
    expect([status, body.error?.code]).toEqual([500, 'REGION_UNAVAILABLE']);
    expect(body.error?.message).toContain('us-east, eu-west');
  });

  test('a named region renders the capture', async () => {
    const renderer = await front.addRenderer('eu-west');
    await renderer.start();
    const { body } = await whenHeard(() => front.capture({ url, region: 'eu-west' }));
    expect(body.data).toMatchObject({ region: 'eu-west' });
    await renderer.stop();
  });

  test('a region without renderers is refused at once', async () => {
    const refused = async () => {
      const { body } = await read(
        await front.capture({ url, region: 'eu-west' }, { signal: AbortSignal.timeout(1000) }),
      );
      return body.error?.code === 'REGION_UNAVAILABLE';
    };
    // Until the front learns that the renderer is withdrawn, captures are still queued there.
    await until('eu-west to be refused', refused);
  });

  test('a region whose queues do not exist yet is refused, and accepted as soon as they exist', async () => {
    const { jsm } = front.nats.session;
    const inBackground = async () => {
      const answer = await front.capture({ url, region: 'us-west', background: true });
      return { ...(await read(answer)), retryAfter: answer.headers.get('retry-after') };
    };
    await jsm.consumers.delete(streamNames.captures, 'us-west-background-7');
    const { body, retryAfter } = await until('it to be refused', async () => {
      const refused = await inBackground();
      return refused.body.error === null ? undefined : refused;
    });
    expect(body.error).toMatchObject({
      code: 'REGION_UNAVAILABLE',
      message: 'The region us-west is being set up. Try again in 10 s, or use auto.',
    });
    expect(retryAfter).toBe('10');
    await addDurables(jsm, ['us-west']);
    await until('it to be accepted', async () => (await inBackground()).status === 200);
  });
});

describe('GET /captures/{uuid}', () => {
  test.each(['nonsense', '01a1fd8a-28f4-7407-b5a7-118e86daadce', '../x', 'a'.repeat(120), '*', '%3E'])(
    '%s is not found',
    async (uuid) => {
      const { status, body } = await read(await front.call(`/captures/${encodeURIComponent(uuid)}`));
      expect([status, body.error?.code]).toEqual([404, 'CAPTURE_NOT_FOUND']);
    },
  );

  test('returns what POST returned, to the same account only', async () => {
    const answer = await read(await front.capture({ url }));
    const uuid = answer.body.data?.['uuid'];
    const found = await state(uuid);
    expect(found.status).toBe(200);
    expect(found.body).toEqual(withoutAnswerMs(answer.body));
    expect((await state(uuid, await front.makeKey())).status).toBe(404);
    expect((await state(uuid, await front.makeKey({ account: 'demo', scopes: ['read'] }))).status).toBe(200);
    expect((await read(await front.call(`/captures/${String(uuid)}`, { key: null }))).status).toBe(401);
  });
});
