import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/schema';
import { reportSchema } from '../api/capture.ts';
import { extractedType, extractNames, mimeTypes } from '../api/formats.ts';
import { causeOf, type FailureCause } from '../runtime/errors.ts';
import { oneOf } from '../api/one-of.ts';
import { maxFailureLength, maxTextLength, renderFailures, returnReasons } from './outcomes.ts';

/** No file or page of a capture is longer on a side than this, in pixels of any scale. */
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

/** What was extracted from the page, and where it was stored. */
const extractedUploadSchema = Type.Object({
  upload: uploadSchema,
  parts: Type.Array(oneOf(extractNames), { maxItems: extractNames.length }),
});

/** The object with the diagnostics of the rendering. */
const diagnosticsUploadSchema = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 256 }),
  upload: uploadSchema,
});

/** What a renderer publishes about a job. It runs other people's pages: nothing of this is believed before it was checked. */
const jobResultSchema = Type.Object({
  /** Of the job: proves that the renderer was given it. */
  ticket: Type.String({ maxLength: 65_536 }),
  pod: Type.String({ maxLength: 253 }),
  /** How often the job had been delivered, this time included. */
  delivery: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  /** From the delivery of the job to this result. */
  elapsedMs: Type.Number({ minimum: 0, maximum: maxMs }),
  outcome: Type.Union([
    Type.Object({ kind: oneOf(['started']) }),
    /** The picture has been taken, and is being stored. */
    Type.Object({ kind: oneOf(['rendered']) }),
    Type.Object({
      kind: oneOf(['completed']),
      upload: uploadSchema,
      /** Of a capture that asked for it, where the page answered. */
      extracted: Type.Optional(extractedUploadSchema),
      /** Of a pdf. */
      pages: Type.Optional(Type.Integer({ minimum: 1, maximum: maxPixels })),
      /** Absent if the capture did not ask for them. */
      diagnostics: Type.Optional(diagnosticsUploadSchema),
      report: reportSchema,
      /** From the picture to this result. */
      ageMs: Type.Number({ minimum: 0, maximum: maxMs }),
    }),
    Type.Object({
      kind: oneOf(['failed']),
      code: oneOf(renderFailures),
      message: Type.String({ minLength: 1, maxLength: maxFailureLength }),
      /** As the renderer states it; `parseResult` checks it. */
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

/** A result of bytes that came over the network; null when they are none, or out of bounds. */
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
  const { title, finalUrl, softTimeouts, scriptError = '' } = outcome.report;
  const lengths = [title, finalUrl, softTimeouts, scriptError].map(({ length }) => length);
  return Math.max(...lengths) > maxTextLength ? null : { ...value, outcome };
}

/** A result as a front hears it: it may bring the file along. */
export interface Reply {
  readonly result: JobResult;
  readonly bytes: Buffer | null;
}

const newline = 0x0a;

/** Null for what is no reply. */
export function decodeReply(data: Uint8Array): Reply | null {
  const buffer = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const end = buffer.indexOf(newline);
  const result = end === -1 ? null : parseResult(buffer.subarray(0, end));
  if (result === null) return null;
  const bytes = buffer.subarray(end + 1);
  return { result, bytes: bytes.length === 0 ? null : bytes };
}
