import type { CaptureResult } from '@webcapture/shared/api/capture.ts';
import type { Diagnostics } from '@webcapture/shared/api/diagnostics.ts';
import type { AnswerCheck } from './openapi.ts';
import { readPdf, type Pdf } from './pdf.ts';
import { Picture } from './picture.ts';

export interface CallOptions {
  /** An API key instead of the fleet's; null sends no Authorization header. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Text that is sent unchanged, instead of the body as JSON. */
  readonly raw?: string | Uint8Array<ArrayBuffer>;
  /** Base URL instead of that of the first front. */
  readonly base?: string;
}

/** A response to POST /capture. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  /** The body as JSON; undefined for a file. */
  readonly body: Envelope | undefined;
  /** Milliseconds from the request to the last byte of the response. */
  readonly ms: number;
}

interface Envelope {
  readonly success: boolean;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly data: CaptureResult | null;
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly ms: number;
}

/** `completed`, or the error code of a response. */
export function outcomeOf(answer: Answer): string {
  return answer.status === 200 ? 'completed' : (answer.body?.error?.code ?? `status ${answer.status}`);
}

const answerDeadlineMs = 180_000;

/** A client of one fleet. It validates every JSON response of POST /capture against /openapi.json. */
export class Api {
  readonly url: string;
  readonly key: string;
  readonly #check: () => Promise<AnswerCheck>;

  constructor(options: { url: string; key: string; check: () => Promise<AnswerCheck> }) {
    this.url = options.url;
    this.key = options.key;
    this.#check = options.check;
  }

  /** Sends any request without checking the response. `path` is relative to the front. */
  request(path: string, init: RequestInit = {}): Promise<Response> {
    const url = URL.canParse(path) ? path : this.url + path;
    return fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(answerDeadlineMs), ...init });
  }

  /** Sends a request with the fleet's key. */
  get(path: string, options: { key?: string } = {}): Promise<Response> {
    return this.request(path, { headers: { authorization: `Bearer ${options.key ?? this.key}` } });
  }

  /** Sends a request that must succeed, and returns the `data` of its response. Throws the message of an error. */
  async call<T>(method: string, path: string, options: { key?: string; body?: object } = {}): Promise<T> {
    const { key = this.key, body } = options;
    const response = await this.request(path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { data, error } = (await response.json()) as { data: T; error: { message: string } | null };
    if (error !== null) throw new Error(`${method} ${path}: ${error.message}`);
    return data;
  }

  capture(body: unknown, options: CallOptions = {}): Promise<Answer> {
    return handled(this.#capture(body, options));
  }

  async #capture(body: unknown, options: CallOptions): Promise<Answer> {
    const key = options.key === undefined ? this.key : options.key;
    const limit = AbortSignal.timeout(answerDeadlineMs);
    const start = performance.now();
    const response = await fetch(`${options.base ?? this.url}/capture`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...options.headers,
      },
      body: options.raw ?? JSON.stringify(body),
      signal: options.signal === undefined ? limit : AbortSignal.any([limit, options.signal]),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const ms = performance.now() - start;
    const mediaType = response.headers.get('content-type')?.split(';')[0] ?? '';
    if (mediaType !== 'application/json') {
      return { status: response.status, headers: response.headers, bytes, body: undefined, ms };
    }
    const envelope = JSON.parse(bytes.toString('utf8')) as Envelope;
    const check = await this.#check();
    const problems = check.problems({
      path: '/capture',
      method: 'POST',
      status: response.status,
      mediaType,
      body: envelope,
    });
    if (problems.length > 0) throw new Error(`${problems.join('\n')}\nin ${bytes.toString('utf8').slice(0, 2000)}`);
    return { status: response.status, headers: response.headers, bytes, body: envelope, ms };
  }

  /** Makes a capture that must succeed, and returns the `data` of its response. */
  captured(body: object | null, options: CallOptions = {}): Promise<CaptureResult> {
    return handled(this.#captured(body, options));
  }

  async #captured(body: object | null, options: CallOptions): Promise<CaptureResult> {
    const answer = await this.capture(body, options);
    const data = answer.body?.data;
    if (answer.status !== 200 || answer.body?.success !== true || data === null || data === undefined) {
      const why = answer.status < 500 ? '' : await this.#diagnosis(options.key ?? this.key);
      throw new Error(`the capture should have succeeded, not ${answer.status} ${textOf(answer)}${why}`);
    }
    return data;
  }

  /** Returns the steps and waits of the last failed capture, for the message of a failed test. Empty if they are not known. */
  async #diagnosis(key: string): Promise<string> {
    try {
      const { items } = await this.call<{ items: { uuid: string }[] }>('GET', '/captures?status=failed&limit=1', {
        key,
      });
      const path = `/captures/${items[0]?.uuid}/diagnostics`;
      const { steps, waits } = await this.call<Pick<Diagnostics, 'steps' | 'waits'>>('GET', path, { key });
      return `\nsteps: ${JSON.stringify(steps)}\nwaits: ${JSON.stringify(waits)}`;
    } catch {
      return '';
    }
  }

  /** Makes a capture that must be refused or fail. */
  refused(body: unknown, options: CallOptions = {}): Promise<Refusal> {
    return handled(this.#refused(body, options));
  }

  async #refused(body: unknown, options: CallOptions): Promise<Refusal> {
    const answer = await this.capture(body, options);
    const error = answer.body?.error;
    if (answer.status === 200 || answer.body?.success !== false || answer.body.data !== null || !error) {
      throw new Error(`the capture should have failed, not ${answer.status} ${textOf(answer)}`);
    }
    return { status: answer.status, ...error, ms: answer.ms };
  }

  /** Makes a capture that must succeed, and returns the picture that its fileUrl serves. */
  picture(body: object | null, options: CallOptions = {}): Promise<{ data: CaptureResult; picture: Picture }> {
    return handled(this.#picture(body, options));
  }

  async #picture(body: object | null, options: CallOptions): Promise<{ data: CaptureResult; picture: Picture }> {
    const { data, bytes } = await this.captureWithFile(body, options);
    return { data, picture: await Picture.of(bytes) };
  }

  /** Makes a capture that must succeed, and returns its PDF. */
  pdf(body: object, options: CallOptions = {}): Promise<{ data: CaptureResult; pdf: Pdf; bytes: Buffer }> {
    return handled(this.#pdf(body, options));
  }

  async #pdf(body: object, options: CallOptions): Promise<{ data: CaptureResult; pdf: Pdf; bytes: Buffer }> {
    const { data, bytes } = await this.captureWithFile({ format: 'pdf', ...body }, options);
    return { data, pdf: await readPdf(bytes), bytes };
  }

  /** Makes a capture that must succeed, and returns its file. The response must describe the file correctly. */
  captureWithFile(body: object | null, options: CallOptions = {}): Promise<{ data: CaptureResult; bytes: Buffer }> {
    return handled(this.#captureWithFile(body, options));
  }

  async #captureWithFile(body: object | null, options: CallOptions): Promise<{ data: CaptureResult; bytes: Buffer }> {
    const data = await this.captured(body, options);
    const response = await this.request(data.fileUrl);
    const bytes = Buffer.from(await response.arrayBuffer());
    if (response.status !== 200)
      throw new Error(`${data.fileUrl} answered ${response.status} ${bytes.toString('utf8')}`);
    const type = response.headers.get('content-type');
    if (bytes.length !== data.fileSizeBytes || type !== data.metadata.mimeType) {
      throw new Error(
        `the file is ${bytes.length} bytes of ${type}; the answer says ${data.fileSizeBytes} of ${data.metadata.mimeType}`,
      );
    }
    return { data, bytes };
  }
}

/** Marks the rejection as handled. If a test fails elsewhere, a capture in progress may fail too, and that is not a separate error. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function textOf(answer: Answer): string {
  return answer.body === undefined
    ? `${answer.bytes.length} bytes of ${answer.headers.get('content-type')}`
    : answer.bytes.toString('utf8').slice(0, 1000);
}
