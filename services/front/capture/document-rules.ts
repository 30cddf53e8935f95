import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import {
  maxAttachmentBytes,
  maxPasswordBytes,
  type PdfAttachment,
  type PdfEncryption,
  type PdfMetadata,
} from '@webcapture/shared/api/document-options.ts';
import { describeValue } from '../validation/explain-errors.ts';
import { canonicalLocale } from './visitor-rules.ts';

type PdfRequest = NonNullable<CaptureRequest['pdf']>;
type AttachmentRequest = NonNullable<PdfRequest['attachments']>[number];

/** Control characters such as line breaks, halves of surrogate pairs, and characters that XML does not allow. */
const unprintable = /[\p{Cc}\p{Cs}\u{FFFE}\u{FFFF}]/u;

const invisible = /\p{Default_Ignorable_Code_Point}/u;

/** Yields the violated rules of metadata, attachments and encryption that a schema cannot express. */
export function* brokenDocumentRules({ metadata, attachments = [], encryption }: PdfRequest): Generator<string> {
  if (metadata !== undefined) yield* brokenMetadata(metadata);
  yield* brokenAttachments(attachments);
  if (encryption !== undefined) yield* brokenEncryption(encryption);
}

/** Yields the violated rules of encryption. `at`: the path of the field. */
export function* brokenEncryption(
  { userPassword, ownerPassword }: PdfEncryption,
  at = 'pdf.encryption',
): Generator<string> {
  if (userPassword === undefined && ownerPassword === undefined) {
    yield `${at} needs ${at}.userPassword or ${at}.ownerPassword`;
  }
  for (const [name, password = ''] of Object.entries({ userPassword, ownerPassword })) {
    if (Buffer.byteLength(password) > maxPasswordBytes)
      yield `${at}.${name} must have at most ${maxPasswordBytes} bytes in UTF-8`;
    // ISO 32000-2 tells viewers to normalize a password (SASLprep, RFC 4013) before they try it. Not all viewers do that.
    if (unprintable.test(password) || invisible.test(password) || password.normalize('NFKC') !== password) {
      yield `${at}.${name} must have no control or invisible characters, and the normal form NFKC of Unicode`;
    }
  }
  if (userPassword !== undefined && userPassword === ownerPassword) {
    yield `${at}.ownerPassword must differ from ${at}.userPassword, which would open the document without limits`;
  }
}

/** Yields the violated rules of metadata. `at`: the path of the field. */
export function* brokenMetadata(
  { language, keywords = [], ...texts }: PdfMetadata,
  at = 'pdf.metadata',
): Generator<string> {
  for (const [name, text] of Object.entries(texts)) {
    if (unprintable.test(text)) yield `${at}.${name} must have no control characters`;
  }
  for (const [index, keyword] of keywords.entries()) {
    if (/[,;]/.test(keyword) || unprintable.test(keyword)) {
      yield `${at}.keywords.${index} must have no commas, semicolons and control characters, which separate keywords`;
    }
  }
  if (language !== undefined && canonicalLocale(language) === undefined) {
    yield `${at}.language must be a language tag (BCP 47) without extensions like "de-DE", not ${describeValue(language)}`;
  }
}

function* brokenAttachments(attachments: readonly AttachmentRequest[]): Generator<string> {
  const names = new Set<string>();
  let bytes = 0;
  for (const [index, attachment] of attachments.entries()) {
    const path = `pdf.attachments.${index}`;
    const { name, description = '' } = attachment;
    if (/[/\\]/.test(name) || unprintable.test(name) || /^\.{1,2}$/.test(name) || name.trim() !== name) {
      yield `${path}.name must be a file name without slashes, backslashes, control characters and outer spaces, not ${describeValue(name)}`;
    }
    // Two names must not differ only in case, because many file systems ignore case.
    const key = name.normalize('NFC').toLowerCase();
    if (names.has(key)) yield `${path}.name must be unique, ignoring case: ${describeValue(name)} is given twice`;
    names.add(key);
    if (unprintable.test(description)) yield `${path}.description must have no control characters`;
    const file = fileOf(attachment);
    if (file === undefined)
      yield `${path}.content begins with "data:" but is not a data URL: data:[media type][;base64],data`;
    else bytes += file.bytes.length;
  }
  if (bytes > maxAttachmentBytes) {
    yield `pdf.attachments must have at most ${maxAttachmentBytes} bytes together, not ${bytes}`;
  }
}

/** Converts attachments that satisfy {@link brokenDocumentRules} to base64 with a media type. */
export function attachmentsOf(attachments: readonly AttachmentRequest[]): readonly PdfAttachment[] {
  return attachments.map((attachment) => {
    const { name, description, relationship = 'Unspecified' } = attachment;
    const file = fileOf(attachment);
    if (file === undefined) throw new Error(`attachment ${name} was not validated`);
    return {
      name,
      content: file.bytes.toString('base64'),
      mimeType: file.mimeType,
      ...(description === undefined ? {} : { description }),
      relationship,
    };
  });
}

/** Returns undefined if the content begins like a data URL but is not valid. */
function fileOf({ content, mimeType }: AttachmentRequest): { bytes: Buffer; mimeType: string } | undefined {
  if (!/^data:/i.test(content)) return { bytes: Buffer.from(content), mimeType: mimeType ?? 'text/html' };
  const head = /^data:([^;,]*)(;[^,]*)?,/i.exec(content);
  if (head === null) return undefined;
  const [{ length }, type = '', parameters = ''] = head;
  const data = content.slice(length);
  const bytes = /;\s*base64\s*$/i.test(parameters) ? bytesOfBase64(data) : bytesOfText(data);
  return bytes && { bytes, mimeType: mimeType ?? (mediaType.test(type) ? type.toLowerCase() : 'text/plain') };
}

const mediaType = /^[\w!$&^.+-]{1,63}\/[\w!$&^.+-]{1,63}$/;

/** Decodes base64, standard or URL-safe, with or without padding. `+`, `/` and `=` may be percent-encoded. */
function bytesOfBase64(data: string): Buffer | undefined {
  const digits = bytesOfText(data)
    ?.toString('latin1')
    .replaceAll(/[\t\n\f\r ]/g, '')
    .replace(/={1,2}$/, '');
  const isBase64 = digits !== undefined && /^[\w+/-]*$/.test(digits) && digits.length % 4 !== 1;
  return isBase64 ? Buffer.from(digits, 'base64') : undefined;
}

/** Decodes percent-encoded text. Returns undefined if a percent sign is not followed by two hexadecimal digits. */
function bytesOfText(data: string): Buffer | undefined {
  if (/%(?![\da-f]{2})/i.test(data)) return undefined;
  const encoded = Buffer.from(data).toString('latin1');
  const decoded = encoded.replaceAll(/%(..)/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  return Buffer.from(decoded, 'latin1');
}
