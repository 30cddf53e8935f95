import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import {
  maxAttachmentBytes,
  maxPasswordBytes,
  type PdfAttachment,
  type PdfMetadata,
} from '@webcapture/shared/api/document-options.ts';
import { describeValue } from '../validation/explain-errors.ts';
import { canonicalLocale } from './visitor-rules.ts';

type PdfRequest = NonNullable<CaptureRequest['pdf']>;
type AttachmentRequest = NonNullable<PdfRequest['attachments']>[number];

/** Line breaks are control characters too. Half a surrogate pair is no character. */
const unprintable = /[\p{Cc}\p{Cs}\u{FFFE}\u{FFFF}]/u;

/** What is wrong with the metadata, attachments and encryption of a pdf, as far as no schema can say it. */
export function* brokenDocumentRules({ metadata = {}, attachments = [], encryption }: PdfRequest): Generator<string> {
  yield* brokenMetadata(metadata);
  yield* brokenAttachments(attachments);
  if (encryption === undefined) return;
  const { userPassword, ownerPassword } = encryption;
  if (userPassword === undefined && ownerPassword === undefined) {
    yield 'pdf.encryption needs pdf.encryption.userPassword or pdf.encryption.ownerPassword';
  }
  // Viewers normalise passwords before they try them (SASLprep), and refuse these characters.
  for (const [name, password = ''] of Object.entries({ userPassword, ownerPassword })) {
    if (Buffer.byteLength(password) > maxPasswordBytes)
      yield `pdf.encryption.${name} must have at most ${maxPasswordBytes} bytes in UTF-8`;
    if (unprintable.test(password)) yield `pdf.encryption.${name} must have no control characters`;
  }
  if (userPassword !== undefined && userPassword === ownerPassword) {
    yield 'pdf.encryption.ownerPassword must differ from pdf.encryption.userPassword, which would open the document without limits';
  }
}

function* brokenMetadata({ language, keywords = [], ...texts }: PdfMetadata): Generator<string> {
  for (const [name, text] of Object.entries(texts)) {
    if (unprintable.test(text)) yield `pdf.metadata.${name} must have no control characters`;
  }
  for (const [index, keyword] of keywords.entries()) {
    if (/[,;]/.test(keyword) || unprintable.test(keyword)) {
      yield `pdf.metadata.keywords.${index} must have no commas, semicolons and control characters, which part keywords`;
    }
  }
  if (language !== undefined && canonicalLocale(language) === undefined) {
    yield `pdf.metadata.language must be a language tag (BCP 47) without extensions like "de-DE", not ${describeValue(language)}`;
  }
}

function* brokenAttachments(attachments: readonly AttachmentRequest[]): Generator<string> {
  const seen = new Set<string>();
  let bytes = 0;
  for (const [index, attachment] of attachments.entries()) {
    const path = `pdf.attachments.${index}`;
    const { name, description = '' } = attachment;
    if (/[/\\]/.test(name) || unprintable.test(name) || /^\.{1,2}$/.test(name) || name.trim() !== name) {
      yield `${path}.name must be a file name without slashes, backslashes, control characters and outer spaces, not ${describeValue(name)}`;
    }
    // File systems that ignore case are common.
    const key = name.normalize('NFC').toLowerCase();
    if (seen.has(key))
      yield `${path}.name must differ from the other names, also in more than case: ${describeValue(name)} is given twice`;
    seen.add(key);
    if (unprintable.test(description)) yield `${path}.description must have no control characters`;
    const file = fileOf(attachment);
    if (file === undefined)
      yield `${path}.content begins with "data:" and is no data URL: data:[media type][;base64],data`;
    else bytes += file.bytes.length;
  }
  if (bytes > maxAttachmentBytes) {
    yield `pdf.attachments must have at most ${maxAttachmentBytes} bytes together, not ${bytes}`;
  }
}

/** The attachments of a request that keeps {@link brokenDocumentRules}, each in one form. */
export function attachmentsOf(attachments: readonly AttachmentRequest[]): readonly PdfAttachment[] {
  return attachments.map((attachment) => {
    const { name, description, relationship = 'Unspecified' } = attachment;
    const { bytes, mimeType } = fileOf(attachment) ?? { bytes: Buffer.alloc(0), mimeType: 'text/plain' };
    const content = bytes.toString('base64');
    return { name, content, mimeType, ...(description === undefined ? {} : { description }), relationship };
  });
}

/** Undefined of what begins like a data URL and is none. */
function fileOf({ content, mimeType }: AttachmentRequest): { bytes: Buffer; mimeType: string } | undefined {
  if (!/^data:/i.test(content)) return { bytes: Buffer.from(content), mimeType: mimeType ?? 'text/html' };
  const comma = content.indexOf(',');
  if (comma < 0) return undefined;
  const [type = '', ...parameters] = content.slice('data:'.length, comma).split(';');
  const bytes =
    parameters.at(-1)?.trim().toLowerCase() === 'base64'
      ? bytesOfBase64(content.slice(comma + 1))
      : bytesOfText(content.slice(comma + 1));
  return bytes && { bytes, mimeType: mimeType ?? (mediaType.test(type) ? type.toLowerCase() : 'text/plain') };
}

const mediaType = /^[\w!$&^.+-]{1,63}\/[\w!$&^.+-]{1,63}$/;

/** Standard or URL-safe; the padding is optional. Percent signs may stand for `+`, `/` and `=`. */
function bytesOfBase64(text: string): Buffer | undefined {
  const packed = bytesOfText(text)
    ?.toString('latin1')
    .replaceAll(/[\t\n\f\r ]/g, '');
  if (packed === undefined || !/^[\w+/-]*={0,2}$/.test(packed)) return undefined;
  return packed.replace(/={1,2}$/, '').length % 4 === 1 ? undefined : Buffer.from(packed, 'base64');
}

const percent = 0x25;

function bytesOfText(text: string): Buffer | undefined {
  if (/%(?![\dA-F]{2})/i.test(text)) return undefined;
  const bytes = Buffer.from(text);
  let end = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    const isEscaped = byte === percent;
    bytes[end++] = isEscaped ? Number.parseInt(bytes.toString('latin1', at + 1, at + 3), 16) : byte;
    if (isEscaped) at += 2;
  }
  return bytes.subarray(0, end);
}
