import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import type { MergeRequest } from '@webcapture/shared/api/merge-request.ts';
import { brokenEncryption, brokenMetadata } from '../../capture/document-rules.ts';
import { fillInDevice } from '../../capture/visitor-rules.ts';
import { isObject } from '../../validation/is-object.ts';

/**
 * Sets the format of all requests in a body, and the viewports of their devices, as defaults. Must run before the validation, which fills in
 * the defaults of POST /capture. Leaves invalid bodies unchanged.
 */
export function fillInDocuments(body: unknown): void {
  if (!isObject(body) || !Array.isArray(body['documents'])) return;
  for (const document of body['documents'] as unknown[]) {
    if (!isObject(document) || !isObject(document['request'])) continue;
    const { request } = document;
    request['format'] ??= 'pdf';
    fillInDevice(request);
  }
}

/** Yields the violated rules of a merge that a schema cannot express, except those of each request. */
export function* brokenMergeRules({ documents, metadata, encryption }: MergeRequest): Generator<string> {
  for (const [index, { capture, request }] of documents.entries()) {
    const at = `documents.${index}`;
    if ((capture === undefined) === (request === undefined)) {
      yield `${at} needs exactly one of ${at}.capture and ${at}.request`;
    }
    if (request !== undefined) yield* brokenRequest(request, `${at}.request`);
  }
  if (metadata !== undefined) yield* brokenMetadata(metadata, 'metadata');
  if (encryption !== undefined) yield* brokenEncryption(encryption, 'encryption');
}

function* brokenRequest(request: CaptureRequest, at: string): Generator<string> {
  const { format, responseType, background, webhook, persistence, pdf } = request;
  if (format !== 'pdf') yield `${at}.format must be pdf, not ${format}`;
  if (responseType !== 'json') yield `${at}.responseType must be json: the response is the merged document`;
  if (background) yield `${at}.background must be false: the merge waits for the capture`;
  if (webhook !== undefined) yield `${at}.webhook must be left out: the merge waits for the capture`;
  if (persistence.enabled)
    yield `${at}.persistence.enabled must be false: capture the page first, and merge its capture`;
  if (pdf?.attachments !== undefined) yield `${at}.pdf.attachments must be left out: a merge does not keep attachments`;
  if (pdf?.encryption !== undefined) {
    yield `${at}.pdf.encryption must be left out: encrypt the merged document with encryption`;
  }
}
