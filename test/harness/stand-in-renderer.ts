import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import type { CaptureReport } from '@webcapture/shared/api/capture.ts';
import type { Extracted } from '@webcapture/shared/api/extracted.ts';
import { diagnosticsType, extractedType, mimeTypes, type Format } from '@webcapture/shared/api/formats.ts';
import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pull-inbox.ts';
import { Cache } from '@webcapture/shared/captures/cache.ts';
import type { SealedSecrets } from '@webcapture/shared/captures/sealed-secrets.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { withdrawHeartbeat, publishHeartbeat } from '@webcapture/shared/queue/publish-heartbeat.ts';
import { parseJob } from '@webcapture/shared/queue/jobs.ts';
import type { JobOutcome } from '@webcapture/shared/queue/results.ts';
import type { RenderFailure } from '@webcapture/shared/queue/outcomes.ts';
import { causeOf } from '@webcapture/shared/runtime/errors.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import { hasExtractedFile, packExtracted, partsOf } from '@webcapture/shared/files/extracted-file.ts';
import { extractedName, newDiagnosticsName } from '@webcapture/shared/files/file-name.ts';
import { packDiagnostics, type StoredDiagnostics } from '@webcapture/shared/files/diagnostics-file.ts';
import type { NewFile, Upload } from '@webcapture/shared/files/file-store.ts';
import { JobSource } from '../../services/renderer/worker/job-source.ts';
import { ResultPublisher, type DeliveredJob } from '../../services/renderer/worker/publish-result.ts';
import { Slots } from '../../services/renderer/worker/slots.ts';
import { traceJob } from '../../services/renderer/worker/trace-job.ts';
import { silentLog } from './nats-session.ts';
import { plainReport } from './records.ts';

type Completed = Extract<JobOutcome, { kind: 'completed' }>;

/** The stand-in's reaction to one job; the default is to complete it immediately. */
export type Behavior = (job: CaptureJob, renderer: StandInRenderer) => Promise<void>;

/** The first bytes that identify the type of a file. */
const signatures: Readonly<Record<Exclude<Format, 'png' | 'none'>, Buffer>> = {
  jpeg: Buffer.from([0xff, 0xd8, 0xff, 0xe0]),
  webp: Buffer.from('RIFF\0\0\0\0WEBP', 'latin1'),
  pdf: Buffer.from('%PDF-1.7\n'),
};

/** Replaces the renderers of a region: it takes jobs and publishes results like them, without a browser. */
export class StandInRenderer {
  readonly session: NatsSession;
  readonly region: Region;
  /** For assertions of tests: real renderers do not have these. */
  readonly captures: Captures;
  readonly cache: Cache;
  readonly store: EmbeddedStore;
  /** Every received job, in order. */
  readonly jobs: CaptureJob[] = [];
  behavior: Behavior = (job, renderer) => renderer.complete(job);
  /** Content of its files after the first bytes. */
  bytes = Buffer.from('the bytes of a picture');
  /** The report for the page of a job. */
  reportOf: (job: CaptureJob) => CaptureReport = () => plainReport;
  /** The extracted parts for captures that request them; null: the pages do not respond. */
  extracted: Extracted | null = null;
  /** The extracted parts that it stores. */
  pack: (extracted: Extracted) => Promise<Buffer> = packExtracted;
  /** The diagnostics that it stores for captures that request them or fail; null: nothing. */
  diagnostics: StoredDiagnostics | null = null;
  /** Stores the diagnostics. */
  packNoted: (stored: StoredDiagnostics) => Promise<Buffer> = packDiagnostics;
  /** Changes the description of its files. */
  changeUpload: (upload: Upload) => Upload = (upload) => upload;
  /** Changes the results of completed captures. */
  changeOutcome: (outcome: Completed) => Completed = (outcome) => outcome;
  /** Returns the sealed session state for a job with `keepsSession`. */
  sealSession: (job: CaptureJob) => SealedSecrets | undefined = () => undefined;
  /** The renderer's registration. */
  says: Partial<RendererHeartbeat> = {};
  readonly pod: string;
  readonly #uploader: EmbeddedUploader;
  readonly #results: ResultPublisher;
  readonly #taken = new Map<string, DeliveredJob>();
  #heartbeat: NodeJS.Timeout | undefined;
  #slots: Slots | undefined;
  #source: JobSource | undefined;

  constructor(session: NatsSession, region: Region, pod = `stand-in-${region}`) {
    this.session = session;
    this.region = region;
    this.pod = pod;
    this.captures = new Captures(session);
    this.cache = new Cache(session);
    this.store = new EmbeddedStore(session);
    this.#uploader = new EmbeddedUploader(session);
    this.#results = new ResultPublisher(session, pod);
  }

  /** Registers as a renderer with `slots` slots, and takes jobs. */
  async start(slots = 2): Promise<void> {
    await this.say({ slots });
    this.#heartbeat = setInterval(() => void this.say({ slots }).catch(() => undefined), 1000);
    this.#slots = new Slots({
      count: slots,
      run: (message) => {
        const done = this.#run(message);
        return { rendered: done, done };
      },
      returnJob: async (message) => message.nak(1),
      ready: () => this.session.connected(),
      onFree: () => this.#source?.ask(),
    });
    this.#source = new JobSource(this.session, {
      region: this.region,
      free: () => this.#slots?.free ?? 0,
      onJob: (message) => this.#slots?.take(message),
      log: silentLog,
    });
  }

  async stop(): Promise<void> {
    this.die();
    await this.#slots?.drain(0);
    await withdrawHeartbeat(new Entries(this.session, 'live'), this.region, this.pod).catch(() => undefined);
  }

  /** Stops its heartbeats and takes no more jobs. */
  die(): void {
    clearInterval(this.#heartbeat);
    this.#source?.close();
  }

  async say(words: Partial<RendererHeartbeat> = {}): Promise<void> {
    await publishHeartbeat(new Entries(this.session, 'live'), {
      pod: this.pod,
      instance: this.pod,
      region: this.region,
      version: '0',
      slots: 2,
      busy: 0,
      browser: 'up',
      draining: false,
      recent: { ended: 0, internalFailures: 0, queueWaitP95Ms: 0 },
      jobs: [],
      at: Date.now(),
      ...words,
      ...this.says,
    });
  }

  /** Reports that rendering has started, if requested. */
  begin(job: CaptureJob): void {
    this.#results.reply(this.#delivered(job), { kind: 'started' });
  }

  /** Returns the file for a job. */
  fileOf({ options: { format, viewport } }: CaptureJob): Buffer {
    if (format === 'none') return Buffer.from(JSON.stringify(this.extracted ?? {}));
    if (format !== 'png') return Buffer.concat([signatures[format], this.bytes]);
    const head = Buffer.alloc(33);
    head.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 0, 'latin1');
    head.writeUInt32BE(viewport.width, 16);
    head.writeUInt32BE(viewport.height, 20);
    head.set([8, 2, 0, 0, 0], 24);
    return Buffer.concat([head, this.bytes]);
  }

  async upload(job: CaptureJob): Promise<Upload> {
    const file = { bytes: this.fileOf(job), contentType: mimeTypes[job.options.format] };
    return this.changeUpload(await this.#store(job, job.file.object, file));
  }

  /** Returns the description of the extracted parts in a result. */
  async uploadExtracted(job: CaptureJob): Promise<Pick<Extract<JobOutcome, { kind: 'completed' }>, 'extracted'>> {
    if (!hasExtractedFile(job.options) || this.extracted === null) return {};
    const file = { bytes: await this.pack(this.extracted), contentType: extractedType };
    const upload = await this.#store(job, extractedName(job.file.object), file);
    return { extracted: { upload, parts: partsOf(this.extracted) } };
  }

  /** Returns the description of the diagnostics of the job in a result. */
  async uploadDiagnostics(job: CaptureJob): Promise<Pick<Extract<JobOutcome, { kind: 'failed' }>, 'diagnostics'>> {
    if (this.diagnostics === null) return {};
    const name = newDiagnosticsName(job.file.object);
    const bytes = await this.packNoted(this.diagnostics);
    return { diagnostics: { name, upload: await this.#store(job, name, { bytes, contentType: diagnosticsType }) } };
  }

  #store(job: CaptureJob, object: string, file: Pick<NewFile, 'bytes' | 'contentType'>): Promise<Upload> {
    const { viewport } = job.options;
    const { lifetimeMs, expiresAt, cacheSeconds } = job.file;
    return this.#uploader.upload({
      ...file,
      object,
      region: this.region,
      account: job.account,
      expiresAt: expiresAt ?? Date.now() + lifetimeMs,
      width: viewport.width,
      height: viewport.height,
      ...(cacheSeconds === undefined ? {} : { cacheSeconds }),
    }).stored;
  }

  /** Uploads the file and publishes the result; with `silently`, the reply to the waiting front is lost. */
  async complete(job: CaptureJob, { silently = false }: { silently?: boolean } = {}): Promise<void> {
    const upload = await this.upload(job);
    const noted = job.options.diagnostics === true ? await this.uploadDiagnostics(job) : {};
    const session = job.keepsSession === true ? this.sealSession(job) : undefined;
    const kept = session === undefined ? {} : { session };
    const beside = { ...(await this.uploadExtracted(job)), ...noted, ...kept };
    const completed = { kind: 'completed', upload, ...beside, report: this.reportOf(job), ageMs: 1 } as const;
    const outcome = this.changeOutcome(completed);
    if (!silently) this.tell(job, outcome);
    await this.publish(job, outcome);
  }

  async fail(job: CaptureJob, code: RenderFailure, message: string): Promise<void> {
    const noted = await this.uploadDiagnostics(job);
    await this.publish(job, { kind: 'failed', code, message, cause: causeOf(code, undefined), ...noted });
  }

  /** Sends the reply to the waiting front, with the file if it requested it. */
  tell(job: CaptureJob, outcome: JobOutcome): void {
    this.#results.reply(this.#delivered(job), outcome, outcome.kind === 'completed' ? this.fileOf(job) : null);
  }

  /** Publishes the authoritative result. */
  publish(job: CaptureJob, outcome: JobOutcome): Promise<void> {
    return this.#results.publish(this.#delivered(job), outcome, Date.now() + 30_000);
  }

  #delivered(job: CaptureJob): DeliveredJob {
    return { delivery: 1, takenAt: performance.now(), ...this.#taken.get(`${job.uuid}:${job.revision}`), job };
  }

  async #run(message: PulledMessage): Promise<void> {
    const job = parseJob(message.data);
    if ('isUnknown' in job) return;
    const working = setInterval(() => message.working(), 1000);
    this.#taken.set(`${job.uuid}:${job.revision}`, { job, delivery: message.delivery, takenAt: performance.now() });
    this.jobs.push(job);
    try {
      await traceJob(message, job, this.session.clock, () => this.behavior(job, this));
      await message.ack().catch(() => undefined);
    } finally {
      clearInterval(working);
    }
  }
}
