import { type Static, Type } from 'typebox';
import { captureRequestSchema } from './capture-request.ts';
import { encryptionSchema, metadataSchema } from './document-options.ts';
import { oneOf } from './one-of.ts';
import { optionalText } from './option-schemas.ts';

/** Maximum number of documents in one merge. */
const maxMergedDocuments = 50;

/** Maximum size of all files of a merge together. */
export const maxMergedBytes = 64 * 1024 * 1024;

/** Maximum number of pages of a merged document. */
export const maxMergedPages = 2000;

const documentSchema = Type.Object(
  {
    capture: optionalText(
      36,
      'UUID of a completed capture of the account, with format pdf and without pdf.encryption.',
    ),
    request: Type.Optional(captureRequestSchema),
    title: optionalText(
      512,
      'Title of the bookmark of the document. If it is not set: the title of the page, or its URL.',
    ),
  },
  {
    additionalProperties: false,
    description:
      'One of capture and request. request is a body of POST /capture. Its format is always pdf and can be left out. It must not set responseType file, background, webhook, persistence, pdf.attachments or pdf.encryption.',
  },
);

/** The body of `POST /pdf/merge`. */
export const mergeRequestSchema = Type.Object(
  {
    documents: Type.Array(documentSchema, {
      minItems: 1,
      maxItems: maxMergedDocuments,
      description: `Documents to merge, in this order: up to ${maxMergedDocuments}.`,
    }),
    pageLabels: oneOf(['continuous', 'perDocument'], {
      default: 'continuous',
      description:
        'Numbers of the pages that viewers show: from 1 to the last page (continuous), or from 1 in each document after the number of the document, such as 2-1 (perDocument).',
    }),
    metadata: metadataSchema,
    encryption: encryptionSchema,
  },
  { additionalProperties: false },
);

export type MergeRequest = Static<typeof mergeRequestSchema>;
export type PageLabels = MergeRequest['pageLabels'];
