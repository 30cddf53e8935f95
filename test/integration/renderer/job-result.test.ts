import { randomUUIDv7 } from 'node:crypto';
import { Registry } from 'prom-client';
import { describe, expect, test, vi } from 'vitest';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import type { NewFile } from '@webcapture/shared/files/file-store.ts';
import { isDiagnosticsName } from '@webcapture/shared/files/file-name.ts';
import { storeHtml, readHtml } from '@webcapture/shared/files/stored-html.ts';
import { jobOf } from '@webcapture/shared/queue/job.ts';
import { renderFailures } from '@webcapture/shared/queue/outcomes.ts';
import { ticketOf } from '@webcapture/shared/queue/tickets.ts';
import { causeOf, type ErrorCode, ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { diagnosticsExample } from '../../../services/front/api/capture-examples.ts';
import { attachDiagnostics } from '../../../services/renderer/diagnostics/trace.ts';
import type { RenderEngine } from '../../../services/renderer/page/engine.ts';
import { createRendererMetrics } from '../../../services/renderer/worker/metrics.ts';
import { ResultPublisher } from '../../../services/renderer/worker/publish-result.ts';
import { defaultOptions, newRecord, plainReport } from '../../harness/records.ts';
import { StallingProxy } from '../../harness/stalling-proxy.ts';
import { until } from '../../harness/until.ts';
import { picture } from './support/renderer.ts';
import { failing, useRenderers } from './support/use-renderers.ts';

const { nats, queue, connect, start, settled, shortenAckWait, listen } = useRenderers();

test('a job ends with a file that can be stored, one result, and a reply that has the bytes', async () => {
  const { subject, heard } = listen();
  await nats().session.nc.flush();
  const made = picture(600_000);
  const renderer = await start({ render: async () => made });
  const job = await queue().publish({ persistence: { refreshIntervalMs: 0 } }, { reply: { subject, wants: 'bytes' } });
  const [outcome] = await settled(1);
  expect(outcome).toMatchObject({ kind: 'completed', report: { title: plainReport.title }, upload: { width: 1280 } });
  if (outcome?.kind !== 'completed') throw new Error('it has not completed');
  const [result] = await queue().results();
  expect(result).toMatchObject({ pod: 'pod', delivery: 1 });
  expect(ticketOf({ ticket: result?.ticket ?? '' })).toEqual(job.ticket);
  // Caches must not keep a file that a refresh may replace.
  expect(outcome.upload.cacheSeconds).toBe(300);
  const { file } = await new EmbeddedStore(nats().session).accept(outcome.upload, {
    name: job.file.object,
    object: job.file.object,
    account: job.account,
    region: 'us-east',
    contentType: 'image/png',
    expiresAt: outcome.upload.expiresAt,
    cacheSeconds: 300,
    isRefresh: false,
  });
  expect(file.size).toBe(600_000);
  await until('the reply', () => heard.length === 1);
  expect(heard[0]?.outcome.kind).toBe('completed');
  expect(heard[0]?.bytes?.equals(made.bytes)).toBe(true);
  await until('it to be counted', () => renderer.ended.length === 1);
  expect(renderer.ended[0]).toMatchObject({ failure: null, job: { uuid: job.uuid } });
});

test('extracted data is stored with the file, under a name derived from the name of the file', async () => {
  const extracted = { text: 'what it says', truncated: ['text' as const] };
  await start({ render: async () => ({ ...picture(), extracted }) });
  const { file } = await queue().publish({ options: { ...defaultOptions, extract: ['text'] } });
  const [outcome] = await settled(1);
  if (outcome?.kind !== 'completed') throw new Error('it has not completed');
  expect(outcome.extracted).toMatchObject({
    parts: ['text'],
    upload: { contentType: 'application/gzip', width: 1280, expiresAt: outcome.upload.expiresAt },
  });
  expect(outcome.extracted?.upload.object).toContain(`/${file.object}.extracted/`);
});

test('diagnostics are stored with the file of a completed or failed job, and do not change its outcome', async () => {
  const { uuid: _uuid, refresh: _refresh, expiresAt: _expiresAt, ...diagnostics } = diagnosticsExample;
  const failure = new ServiceError('CAPTURE_FAILED', 'it fails', { causedBy: 'page' });
  attachDiagnostics(failure, { diagnostics });
  const ends: readonly RenderEngine['render'][] = [
    async () => ({ ...picture(), diagnostics: { diagnostics } }),
    failing(failure),
  ];
  const session = await connect();
  const real = new EmbeddedUploader(session);
  let isFull = false;
  let queueCount = 0;
  const uploader = {
    upload: (file: NewFile) => {
      if (!isFull || !file.object.includes('diagnostics')) return real.upload(file);
      const refused = Promise.reject(new ServiceError('STORAGE_FAILED'));
      return { sent: refused, stored: refused };
    },
  };
  await start({ uploader, render: (request) => (ends[queueCount++ % 2] ?? failing(failure))(request) }, session);
  const longest = { lifetimeMs: 400 * 86_400_000 };
  // Concurrent jobs could end in any order.
  const jobs = [await queue().publish()];
  await settled(1);
  jobs.push(await queue().publish(longest));
  const outcomes = await settled(2);
  expect(outcomes.map(({ kind }) => kind)).toEqual(['completed', 'failed']);
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.kind !== 'completed' && outcome.kind !== 'failed') throw new Error('another end');
    expect(isDiagnosticsName(outcome.diagnostics?.name ?? '', jobs[index]?.file.object ?? '')).toBe(true);
  }
  // Diagnostics without a file are kept for 30 days.
  const { expiresAt = 0 } = outcomes[1]?.kind === 'failed' ? (outcomes[1].diagnostics?.upload ?? {}) : {};
  expect(Math.abs(expiresAt - Date.now() - 30 * 86_400_000)).toBeLessThan(60_000);
  isFull = true;
  await queue().publish();
  await settled(3);
  await queue().publish();
  const later = (await settled(4)).slice(2);
  expect(later.map(({ kind }) => kind)).toEqual(['completed', 'failed']);
  for (const outcome of later) expect(outcome).not.toHaveProperty('diagnostics');
});

test('the file of a refresh is kept for the time in the record', async () => {
  const files: NewFile[] = [];
  const session = await connect();
  const real = new EmbeddedUploader(session);
  const uploader = { upload: (file: NewFile) => (files.push(file), real.upload(file)) };
  await start({ uploader }, session);
  const record = newRecord({ expiresAt: Date.now() + 5_000_000 });
  const { startBy, deadline, region, acceptedAt } = record;
  const refresh = { revision: 1, by: 'request', state: 'queued', region, acceptedAt, startBy, deadline } as const;
  const job = jobOf({ ...record, status: 'completed', refresh }, 1);
  await queue().jobs.publish(job);
  await settled(1);
  expect(files[0]).toMatchObject({ object: job.file.object, expiresAt: record.expiresAt, cacheSeconds: 300 });
  expect(job.file.object).not.toBe(record.fileName);
  await queue().publish({ lifetimeMs: 7_000_000 });
  await settled(2);
  expect(Math.abs((files[1]?.expiresAt ?? 0) - Date.now() - 7_000_000)).toBeLessThan(60_000);
  expect(files[1]).not.toHaveProperty('cacheSeconds');
});

test('the requester receives each progress event until the file is sent', async () => {
  const { subject, heard } = listen();
  await nats().session.nc.flush();
  await start();
  await queue().publish({}, { reply: { subject, wants: 'result', progress: true } });
  await until('the reply', () => heard.at(-1)?.outcome.kind === 'completed');
  expect(heard.map(({ outcome }) => outcome.kind)).toEqual(['started', 'rendered', 'completed']);
});

describe('the result', () => {
  test.each([
    ...renderFailures.map((code) => [code, code] as const),
    ['QUEUE_FULL', 'INTERNAL_ERROR'] as const,
  ] satisfies (readonly [ErrorCode, ErrorCode])[])('of %s is %s, and is in the reply too', async (thrown, told) => {
    const { subject, heard } = listen();
    await nats().session.nc.flush();
    const renderer = await start({
      render: failing(new ServiceError(thrown, 'a reason', { causedBy: 'page', cause: new Error('secret') })),
    });
    await queue().publish({}, { reply: { subject, wants: 'bytes' } });
    const cause = causeOf(told, 'page');
    expect(await settled(1)).toEqual([{ kind: 'failed', code: told, message: 'a reason', cause }]);
    await until('the reply', () => heard.length === 1);
    expect(heard[0]?.outcome).toMatchObject({ kind: 'failed', code: told });
    expect(heard[0]?.data).not.toContain('secret');
    await until(
      'it to be counted',
      () => renderer.ended[0]?.failure?.code === told && renderer.ended[0].failure.cause === cause,
    );
  });

  test('of an unexpected error is INTERNAL_ERROR, without details', async () => {
    await start({ render: failing(new TypeError('the path /etc/shadow')) });
    await queue().publish();
    const [outcome] = await settled(1);
    expect(outcome).toMatchObject({ kind: 'failed', code: 'INTERNAL_ERROR' });
    expect(JSON.stringify(outcome)).not.toContain('shadow');
  });

  test('can be read by fronts even if the address and the reason are very long', async () => {
    const long = `https://example.com/${'a'.repeat(300_000)}`;
    const rendering = picture();
    let turn = 0;
    await start({
      render: async () => {
        if (++turn === 1) return { ...rendering, report: { ...plainReport, finalUrl: long, responseUrl: long } };
        throw new ServiceError('NAVIGATION_FAILED', `No such host: ${long}`);
      },
    });
    await queue().publish();
    await settled(1);
    await queue().publish();
    expect((await settled(2)).map(({ kind }) => kind)).toEqual(['completed', 'failed']);
  });

  test('of a store that rejects the file is STORAGE_FAILED', async () => {
    const broken = Promise.reject(new ServiceError('STORAGE_FAILED'));
    broken.catch(() => undefined);
    await start({ uploader: { upload: () => ({ sent: broken, stored: broken }) } });
    await queue().publish();
    expect(await settled(1)).toMatchObject([{ kind: 'failed', code: 'STORAGE_FAILED' }]);
  });

  test('is published before the job is acknowledged, and only once if the acknowledgement is lost', async () => {
    await using _ = await shortenAckWait(2000);
    const proxy = await StallingProxy.to(nats().url);
    const session = await connect(proxy.url);
    let queued = 0;
    let hasRendered = false;
    class Cut extends ResultPublisher {
      override async publish(...args: Parameters<ResultPublisher['publish']>): Promise<void> {
        await super.publish(...args);
        queued = await queue().queued();
        proxy.lose();
      }
    }
    const render = async () => {
      hasRendered = true;
      return picture();
    };
    // This renderer requests no other job.
    const first = await start({ render, ready: () => !hasRendered, results: new Cut(session, 'pod') }, session);
    await queue().publish();
    await until('the result', async () => queued === 1 && (await queue().results()).length === 1);
    first.source.close();
    const second = await start();
    await until('the job to be done by another one', async () => (await queue().queued()) === 0);
    expect(second.taken[0]?.delivery).toBe(2);
    expect(second.rendered[0]?.ownBrowser).toBe(true);
    expect(await queue().results()).toHaveLength(1);
    proxy.release();
    proxy[Symbol.dispose]();
  });

  test('is published even if the first reply cannot be sent', async () => {
    const session = await connect();
    await start({}, session);
    const publish = session.nc.publish.bind(session.nc);
    vi.spyOn(session.nc, 'publish').mockImplementation((subject, ...rest) => {
      if (subject.startsWith('replies.')) throw new Error('no connection');
      publish(subject, ...rest);
    });
    await queue().publish({}, { reply: { subject: 'replies.us-east.front.x', wants: 'bytes' } });
    expect(await settled(1)).toMatchObject([{ kind: 'completed' }]);
  });
});

test('large HTML is read from its store; if it is missing, the capture fails', async () => {
  const uuid = randomUUIDv7();
  const text = `<p>${'x'.repeat(600_000)}`;
  await storeHtml(nats().session, { region: 'us-east', name: uuid }, text, Date.now() + 60_000);
  const renderer = await start();
  await queue().publish({ uuid, html: uuid, url: 'about:blank' });
  await settled(1);
  expect(renderer.rendered[0]?.source).toEqual({ kind: 'html', html: text });
  await renderer.stop();
  // The leader of the stream decides that HTML is missing: a replica may only be behind.
  await start({ readHtml: (name) => readHtml(nats().session, { region: 'us-east', name }) });
  await queue().publish({ html: randomUUIDv7(), url: 'about:blank' });
  expect((await settled(2))[1]).toMatchObject({ kind: 'failed', code: 'STORAGE_FAILED' });
});

test('fronts receive only the start of a background capture', async () => {
  const job = jobOf(newRecord({ priority: 'background' }));
  const { heard } = listen(job.reply?.subject);
  await nats().session.nc.flush();
  await start();
  await queue().jobs.publish(job);
  await settled(1);
  await until('the start', () => heard.length > 0);
  expect(heard.map(({ outcome }) => outcome.kind)).toEqual(['started']);
});

test('each outcome is counted, including that of a capture that missed its deadline', async () => {
  const registry = new Registry();
  const metrics = createRendererMetrics(registry, {
    region: 'us-east',
    slots: 1,
    busy: () => 0,
    browserUp: () => true,
  });
  const session = await connect();
  session.clock.learn(Date.now());
  let turn = 0;
  const render: RenderEngine['render'] = async () => {
    if (++turn === 2) throw new ServiceError('NAVIGATION_FAILED');
    return picture();
  };
  await start({ render, onEnd: (end) => metrics.ended(end) }, session);
  await queue().publish();
  await settled(1);
  await queue().publish();
  await settled(2);
  await queue().publish({ startBy: Date.now() - 1000 });
  await settled(3);
  const text = await until('all to be counted', async () => {
    const all = await registry.metrics();
    return /outcome="CAPTURE_TIMEOUT",cause="service"} 1$/m.test(all) ? all : undefined;
  });
  for (const [outcome, cause] of [
    ['completed', 'none'],
    ['NAVIGATION_FAILED', 'page'],
    ['CAPTURE_TIMEOUT', 'service'],
  ]) {
    const labels = `region="us-east",format="png",outcome="${outcome}",cause="${cause}"`;
    expect(text).toContain(`captures_total{${labels}} 1\n`);
  }
  expect(text).toMatch(/^webcapture_renderer_render_seconds_count.* 2$/m);
  expect(text).toMatch(/^webcapture_renderer_queue_wait_seconds_count{region="us-east",priority="interactive"} 2$/m);
});
