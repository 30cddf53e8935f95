import { cacheControl } from '../cache-control.ts';
import { contentDisposition, uuidOf } from '../download-name.ts';
import type { ExpectedUpload, Upload } from '../file-store.ts';
import { UploadRejectedError, verifyExpiry } from '../verify-upload.ts';
import { accountTag, type ObjectResource } from './object-file.ts';

/** The clock of a renderer may be off, and its upload may have taken a while. */
const cacheToleranceSeconds = 600;

/**
 * Holds an object against what was asked for and what its uploader told. A renderer may describe what it creates as it
 * likes, and under the address of a CDN a page of its own would be served as one of ours: so the description must be the
 * one that we would have given. Throws an {@link UploadRejectedError}.
 */
export function verifyObject(object: ObjectResource, upload: Upload, expected: ExpectedUpload): void {
  const { metadata = {}, contentType, contentEncoding, contentDisposition: disposition } = object;
  if (contentType !== expected.contentType || (contentEncoding ?? '') !== '') {
    throw new UploadRejectedError('wrong_type', `the object is described as ${contentType} ${contentEncoding ?? ''}`);
  }
  if (Number(object.size) !== upload.size) {
    throw new UploadRejectedError('wrong_size', `the object has ${object.size} bytes, not ${upload.size}`);
  }
  const described: Readonly<Record<string, string | undefined>> = {
    uuid: uuidOf(expected.name),
    account: accountTag(expected.account),
    etag: upload.etag,
    width: String(upload.width),
    height: String(upload.height),
    'expires-at': String(upload.expiresAt),
    'cache-seconds': expected.cacheSeconds === undefined ? undefined : String(expected.cacheSeconds),
    upload: undefined,
  };
  for (const [field, value] of Object.entries(described)) {
    if (metadata[field] === value) continue;
    const reason = field === 'width' || field === 'height' ? 'wrong_size' : 'foreign';
    throw new UploadRejectedError(reason, `the object says another ${field}`);
  }
  if (disposition !== contentDisposition({ name: expected.name, contentType })) {
    throw new UploadRejectedError('foreign', 'the object says another Content-Disposition');
  }
  if (!isOurCacheControl(object, upload))
    throw new UploadRejectedError('foreign', 'the object says another Cache-Control');
  const end = Date.parse(object.customTime ?? '');
  if (end !== upload.expiresAt) throw new UploadRejectedError('expired', 'the object says another end of its life');
  verifyExpiry(end, expected.expiresAt);
}

/** It is ours but for the time that was left when the renderer wrote it. */
function isOurCacheControl({ cacheControl: shown = '', timeCreated }: ObjectResource, file: Upload): boolean {
  const longest = cacheControl(file, Date.parse(timeCreated) - cacheToleranceSeconds * 1000);
  const seconds = /^public, max-age=(\d+)/.exec(shown)?.[1];
  const most = Number(/max-age=(\d+)/.exec(longest)?.[1]);
  return seconds !== undefined && Number(seconds) <= most && shown === longest.replace(/\d+/, seconds);
}
