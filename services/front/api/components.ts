import {
  accountSchema,
  changeAccountSchema,
  createAccountSchema,
  usageSchema,
} from '@webcapture/shared/api/account.ts';
import {
  adminCapturesSchema,
  adminUsageSchema,
  deadLettersSchema,
  overviewSchema,
} from '@webcapture/shared/api/admin.ts';
import {
  createAccountKeySchema,
  createKeySchema,
  keySchema,
  newKeySchema,
  revokedKeySchema,
  rotateKeySchema,
} from '@webcapture/shared/api/api-key.ts';
import { batchCaptureSchema, batchRequestSchema, batchSchema } from '@webcapture/shared/api/batch.ts';
import { captureHistorySchema } from '@webcapture/shared/api/capture-history.ts';
import { pageSchema } from '@webcapture/shared/api/capture-list.ts';
import { captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import {
  captureResultSchema,
  captureStateSchema,
  pendingCaptureSchema,
  reportSchema,
  webhookViewSchema,
} from '@webcapture/shared/api/capture.ts';
import { clientSchema } from '@webcapture/shared/api/client-schema.ts';
import {
  deliveriesSchema,
  deliverySchema,
  sentTestSchema,
  testWebhookSchema,
} from '@webcapture/shared/api/delivery.ts';
import { diagnosticsSchema, renderDiagnosticsSchema } from '@webcapture/shared/api/diagnostics.ts';
import { extractedSchema } from '@webcapture/shared/api/extracted.ts';
import { mergeRequestSchema } from '@webcapture/shared/api/merge-request.ts';
import { createSessionSchema, sessionListSchema, sessionSchema } from '@webcapture/shared/api/session.ts';
import { newSigningSecretSchema, rotateSigningSecretSchema } from '@webcapture/shared/api/signing-secret.ts';
import { statusHistorySchema } from '@webcapture/shared/api/status-history.ts';
import { componentStatusSchema, overallStatusSchema } from '@webcapture/shared/api/status.ts';
import { usageHistorySchema } from '@webcapture/shared/api/usage-history.ts';
import { rotateWebhookSecretSchema, webhookSecretSchema } from '@webcapture/shared/api/webhook.ts';
import { errorCodes } from '@webcapture/shared/runtime/errors.ts';
import { deviceSchema } from './devices.ts';

const { properties: options } = captureRequestSchema;
const { properties: diagnostics } = renderDiagnosticsSchema;
const [, , failedCaptureSchema, deletedCaptureSchema] = captureStateSchema.anyOf;

/**
 * Names of the schemas in the OpenAPI document. They are also the type names in generated clients, and thus part of the public API. Schemas
 * of webhook events have no name: oapi-codegen drops schemas that no path uses, and its output then does not compile.
 */
export const components: Readonly<Record<string, object>> = {
  CaptureRequest: captureRequestSchema,
  Viewport: options.viewport,
  Block: options.block,
  PdfOptions: options.pdf,
  ResponseCacheOptions: options.responseCache,
  PersistenceOptions: options.persistence,
  RefreshSchedule: options.persistence.properties.schedule,
  CompareOptions: options.persistence.properties.compare,
  PictureArea: options.persistence.properties.compare.properties.ignoreAreas.items,
  WebhookOptions: options.webhook,
  WaitFor: options.waitFor,
  Geolocation: options.geolocation,
  Clip: options.clip,
  Resize: options.resize,
  FailOn: options.failOn,
  Cookie: options.cookies.items,
  BasicAuth: options.auth,
  MergeRequest: mergeRequestSchema,
  MergeDocument: mergeRequestSchema.properties.documents.items,

  BatchRequest: batchRequestSchema,
  BatchOptions: batchRequestSchema.properties.options,

  CreateSession: createSessionSchema,
  Session: sessionSchema,
  SessionList: sessionListSchema,

  Capture: captureStateSchema,
  CaptureResult: captureResultSchema,
  PendingCapture: pendingCaptureSchema,
  FailedCapture: failedCaptureSchema,
  DeletedCapture: deletedCaptureSchema,
  CaptureList: pageSchema(captureStateSchema),
  CaptureReport: reportSchema,
  CaptureMetadata: captureResultSchema.properties.metadata,
  RequestMetadata: pendingCaptureSchema.properties.metadata,
  CaptureError: failedCaptureSchema.properties.error,
  Refresh: captureResultSchema.properties.refresh,
  CaptureWebhook: webhookViewSchema,
  Extracted: extractedSchema,
  Diagnostics: diagnosticsSchema,
  DiagnosticsStep: diagnostics.steps.items,
  DiagnosticsWait: diagnostics.waits.items,
  ConsoleMessage: diagnostics.console.items,
  DiagnosticsRequest: diagnostics.requests.items,
  BlockedRequest: diagnostics.blocked.items,
  CaptureHistory: captureHistorySchema,
  PastRefresh: captureHistorySchema.properties.refreshes.items,
  EarlierFile: captureHistorySchema.properties.files.items,
  Delivery: deliverySchema,
  DeliveryList: deliveriesSchema,
  Batch: batchSchema,
  BatchCapture: batchCaptureSchema,
  BatchCounts: batchSchema.properties.counts,
  Device: deviceSchema,

  ApiKey: keySchema,
  ApiKeyList: pageSchema(keySchema),
  NewApiKey: newKeySchema,
  RevokedApiKey: revokedKeySchema,
  CreateKey: createKeySchema,
  RotateKey: rotateKeySchema,
  SigningSecret: newSigningSecretSchema,
  RotateSigningSecret: rotateSigningSecretSchema,
  WebhookSecret: webhookSecretSchema,
  RotateWebhookSecret: rotateWebhookSecretSchema,
  TestEventRequest: testWebhookSchema,
  SentTestEvent: sentTestSchema,
  Usage: usageSchema,
  UsageHistory: usageHistorySchema,

  Account: accountSchema,
  AccountList: pageSchema(accountSchema),
  CreateAccount: createAccountSchema,
  ChangeAccount: changeAccountSchema,
  CreateAccountKey: createAccountKeySchema,
  Overview: overviewSchema,
  RegionOverview: overviewSchema.properties.regions.items,
  AdminCapture: adminCapturesSchema.properties.captures.items,
  AdminCaptureList: adminCapturesSchema,
  AccountUsage: adminUsageSchema.properties.accounts.items,
  AdminUsage: adminUsageSchema,
  DeadLetter: deadLettersSchema.properties.deadLetters.items,
  DeadLetterList: deadLettersSchema,

  ServiceStatus: overallStatusSchema,
  ComponentStatus: componentStatusSchema,
  StatusHistory: statusHistorySchema,
};

type Json = Record<string, unknown>;

interface Media {
  schema?: object;
}

interface Operation {
  readonly requestBody?: { readonly content?: Readonly<Record<string, Media>> };
  readonly responses?: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
}

interface Document {
  readonly paths?: unknown;
  webhooks?: unknown;
  components?: { schemas?: Json };
}

/**
 * Moves named schemas out of the bodies and responses of a document. It finds them by their content, because a schema
 * is copied several times on the way into the document. The schemas used for validation are not changed.
 */
export function nameSchemas(document: Document): void {
  const schemas: Json = {};
  const idOf = interner();
  const names = new Map(
    Object.entries(components).map(([name, schema]) => [idOf(asDocumented(clientSchema(schema))), name]),
  );
  const named = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(named);
    if (value === null || typeof value !== 'object') return value;
    const name = names.get(idOf(value));
    if (name === undefined) return isFailure(value) ? failureOf(value) : partsNamed(value);
    schemas[name] ??= partsNamed(value);
    return refTo(name);
  };
  const partsNamed = (value: object) =>
    Object.fromEntries(Object.entries(value).map(([key, part]) => [key, isSchemaPart(key) ? named(part) : part]));
  /** Returns a reference to the common schema of failures, with the codes of this response next to it. */
  const failureOf = (failure: FailureSchema): Json => {
    const { error } = failure.properties;
    const { code } = error.properties;
    schemas['Error'] ??= { ...error, properties: { ...error.properties, code: { ...code, enum: errorCodes } } };
    schemas['Failure'] ??= { ...failure, properties: { ...failure.properties, error: refTo('Error') } };
    return { ...refTo('Failure'), properties: { error: { properties: { code: { enum: code.enum } } } } };
  };
  // @fastify/swagger shares this object between all documents of the process.
  document.webhooks = structuredClone(document.webhooks);
  for (const methods of [document.paths, document.webhooks]) {
    for (const operations of Object.values(methods ?? {}) as Record<string, Operation>[]) {
      for (const { requestBody, responses = {} } of Object.values(operations)) {
        for (const { content } of [requestBody ?? {}, ...Object.values(responses)]) {
          for (const media of Object.values(content ?? {})) media.schema = named(asDocumented(media.schema)) as object;
        }
      }
    }
  }
  const sorted = Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1));
  document.components = { ...document.components, schemas: Object.fromEntries(sorted) };
}

/** Describes a record by the schema of its values, as @fastify/swagger does with the schemas of routes. */
function asDocumented(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asDocumented);
  if (value === null || typeof value !== 'object') return value;
  const { patternProperties, ...rest } = value as { patternProperties?: Json };
  const of = patternProperties?.['^.*$'];
  const documented = of === undefined ? value : { ...rest, additionalProperties: of };
  return Object.fromEntries(Object.entries(documented).map(([key, part]) => [key, asDocumented(part)]));
}

const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** The envelope of a failure in the OpenAPI document. */
interface FailureSchema {
  readonly properties: {
    readonly success: { readonly enum: readonly [false] };
    readonly error: { readonly properties: { readonly code: { readonly enum: readonly string[] } } };
  };
}

function isFailure(schema: object): schema is FailureSchema {
  const { properties } = schema as { properties?: Partial<FailureSchema['properties']> };
  return properties?.success?.enum?.[0] === false && properties.error?.properties.code !== undefined;
}

/** Examples, defaults and similar keywords contain values, even if they look like schemas. */
const isSchemaPart = (key: string) => !['default', 'enum', 'const', 'example', 'examples', 'required'].includes(key);

/** Gives equal values equal numbers, independent of the order of their keys. */
function interner(): (value: unknown) => number {
  const ids = new Map<string, number>();
  const known = new WeakMap<object, number>();
  const idOf = (value: unknown): number => {
    const isObject = value !== null && typeof value === 'object';
    const found = isObject ? known.get(value) : undefined;
    if (found !== undefined) return found;
    const text = textOf(value);
    const id = ids.get(text) ?? ids.size;
    ids.set(text, id);
    if (isObject) known.set(value, id);
    return id;
  };
  const textOf = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.map(idOf).join()}]`;
    if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'undefined';
    const entries = Object.entries(value)
      .filter(([, part]) => part !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, part]) => `${JSON.stringify(key)}:${idOf(part)}`).join()}}`;
  };
  return idOf;
}
