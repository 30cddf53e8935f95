import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/schema';
import { reportSchema } from '../api/capture.ts';
import { extractedType, mimeTypes, partNames } from '../api/formats.ts';
import { causeOf, type FailureCause } from '../runtime/errors.ts';
import { oneOf } from '../api/one-of.ts';
import {
  maxFailureLength,
  maxIgnoredAreas,
  maxSessionBytes,
  maxTextLength,
  renderFailures,
  returnReasons,
} from './outcomes.ts';
import { maxTicketLength } from './tickets.ts';

/** Maximum side of a file or page in pixels, at any scale. */
const maxPixels = 1_000_000;
const maxMs = 8 * 86_400_000;

const uploadSchema = Type.Object({
  object: Type.String({ minLength: 1, maxLength: 512 }),
  contentType: oneOf([...Object.values(mimeTypes), extractedType]),
  size: Type.Integer({ minimum: 1, maximum: 2 ** 40 }),
  etag: Type.String({ minLength: 1, maxLength: 128 }),
  width: Type.Integer({ minimum: 1, maximum: maxPixels }),
  height: Type.Integer({ minimum: 1, maximum: maxPixels }),
  expiresAt: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  cacheSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 31_536_000 })),
});

/** The names of the parts that were extracted from the page, and the object that contains them. */
const extractedUploadSchema = Type.Object({
  upload: uploadSchema,
  parts: Type.Array(oneOf(partNames), { maxItems: partNames.length }),
});

/** The object with the diagnostics of the rendering. */
const diagnosticsUploadSchema = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 256 }),
  upload: uploadSchema,
});

/** An area of the picture with an element that is not compared. All sizes are in CSS pixels. */
const pictureAreaSchema = Type.Object({
  x: Type.Integer({ minimum: 0, maximum: maxPixels }),
  y: Type.Integer({ minimum: 0, maximum: maxPixels }),
  width: Type.Integer({ minimum: 1, maximum: maxPixels }),
  height: Type.Integer({ minimum: 1, maximum: maxPixels }),
});

/** The sealed state of a session. Base64 makes it a third larger. */
const sealedSessionSchema = Type.Object({
  key: Type.String({ minLength: 1, maxLength: 16 }),
  sealed: Type.String({ minLength: 1, maxLength: Math.ceil(1.4 * maxSessionBytes) }),
});

/** A result that a renderer publishes about a job. A page may have compromised the renderer, so each field is checked. */
const jobResultSchema = Type.Object({
  /** Ticket of the job. It proves that the renderer received the job. */
  ticket: Type.String({ maxLength: maxTicketLength }),
  pod: Type.String({ maxLength: 253 }),
  /** Number of deliveries of the job, including this one. */
  delivery: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  /** Time from the delivery of the job to this result. */
  elapsedMs: Type.Number({ minimum: 0, maximum: maxMs }),
  outcome: Type.Union([
    Type.Object({ kind: oneOf(['started']) }),
    /** The outcome when the screenshot has been taken and is being stored. */
    Type.Object({ kind: oneOf(['rendered']) }),
    Type.Object({
      kind: oneOf(['completed']),
      upload: uploadSchema,
      /** Present if the request asked for `extract` and the page responded. */
      extracted: Type.Optional(extractedUploadSchema),
      /** Number of pages. Only PDFs have it. */
      pages: Type.Optional(Type.Integer({ minimum: 1, maximum: maxPixels })),
      /** Absent if the request did not ask for diagnostics. */
      diagnostics: Type.Optional(diagnosticsUploadSchema),
      /** Present if the job has `ignore`. */
      ignored: Type.Optional(Type.Array(pictureAreaSchema, { maxItems: maxIgnoredAreas })),
      /** The sealed state of the new session. Present if the job has `keepsSession`. */
      session: Type.Optional(sealedSessionSchema),
      report: reportSchema,
      /** Time from the screenshot to this result. */
      ageMs: Type.Number({ minimum: 0, maximum: maxMs }),
    }),
    Type.Object({
      kind: oneOf(['failed']),
      code: oneOf(renderFailures),
      message: Type.String({ minLength: 1, maxLength: maxFailureLength }),
      /** Cause of the failure according to the renderer. `parseResult` checks it. */
      cause: Type.Unknown(),
      diagnostics: Type.Optional(diagnosticsUploadSchema),
    }),
    Type.Object({ kind: oneOf(['returned']), reason: oneOf(returnReasons) }),
  ]),
});

type StatedResult = Static<typeof jobResultSchema>;
type StatedOutcome = StatedResult['outcome'];
type StatedFailure = Extract<StatedOutcome, { kind: 'failed' }>;

export type JobOutcome =
  Exclude<StatedOutcome, StatedFailure> | (Omit<StatedFailure, 'cause'> & { cause: FailureCause });
export type JobResult = Omit<StatedResult, 'outcome'> & { outcome: JobOutcome };

const validator = Compile(jobResultSchema);

/** Parses a result from a message. Returns null if it is invalid or exceeds the limits. */
export function parseResult(data: Uint8Array): JobResult | null {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8'));
  } catch {
    return null;
  }
  if (!validator.Check(value)) return null;
  const { outcome } = value;
  if (outcome.kind === 'failed') {
    return { ...value, outcome: { ...outcome, cause: causeOf(outcome.code, outcome.cause) } };
  }
  if (outcome.kind !== 'completed') return { ...value, outcome };
  const { title, finalUrl, responseUrl, softTimeouts, scriptError = '' } = outcome.report;
  const lengths = [title, finalUrl, responseUrl ?? '', softTimeouts, scriptError].map(({ length }) => length);
  return Math.max(...lengths) > maxTextLength ? null : { ...value, outcome };
}

/** A reply of a renderer to a front: the result, and the file if it fits into the message. */
export interface Reply {
  readonly result: JobResult;
  readonly bytes: Buffer | null;
}

const newline = 0x0a;

/** Decodes a reply; returns null if it is invalid. */
export function decodeReply(data: Uint8Array): Reply | null {
  const buffer = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const end = buffer.indexOf(newline);
  const result = end === -1 ? null : parseResult(buffer.subarray(0, end));
  if (result === null) return null;
  const bytes = buffer.subarray(end + 1);
  return { result, bytes: bytes.length === 0 ? null : bytes };
}
