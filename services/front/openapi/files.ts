import { mimeTypes } from '@webcapture/shared/contract/formats.ts';
import { failureAnswers } from './answers.ts';

const text = (description: string) => ({ type: 'string', description });

const headers = {
  etag: text('A strong validator of the bytes.'),
  'last-modified': text('When the file was stored.'),
  'accept-ranges': text('Always bytes.'),
  'cache-control': text('Ends when the file does, or sooner where the file may be captured again.'),
  'content-disposition': text('inline, with a name to save it under.'),
};

const content = Object.fromEntries(
  Object.values(mimeTypes).map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
);

/** What the document says of GET and HEAD /files/{name}. */
export function fileDocument(method: 'GET' | 'HEAD') {
  const get = method === 'GET';
  return {
    operationId: 'getFile',
    tags: ['files'],
    summary: get ? 'The file of a capture' : 'The headers of the file of a capture',
    description: 'No key is needed: the name holds 128 random bits.',
    params: { type: 'object', properties: { name: text('The last part of a fileUrl.') } },
    headers: {
      type: 'object',
      properties: {
        ...(get
          ? {
              range: text('One range of bytes, such as bytes=0-1023.'),
              'if-range': text('The ETag, or the date, that the range is meant for.'),
            }
          : {}),
        'if-none-match': text('ETags that the client has already.'),
        'if-modified-since': text('The date of what the client has already.'),
      },
    },
    response: {
      200: { description: 'The file.', headers, ...(get ? { content } : { type: 'null' }) },
      ...(get
        ? {
            206: {
              description: 'The range of the file.',
              headers: { ...headers, 'content-range': text('Which bytes of how many.') },
              content,
            },
            416: {
              description: 'The range lies outside of the file.',
              headers: { 'content-range': text('How many bytes there are.') },
              type: 'null',
            },
          }
        : {}),
      304: { description: 'The client has the file already.', headers, type: 'null' },
      ...(get
        ? failureAnswers(['NOT_FOUND', 'STORAGE_FAILED', 'INTERNAL_ERROR'])
        : {
            404: { description: 'There is no file of this name, or it has expired.', type: 'null' },
            500: { description: 'The file could not be read.', type: 'null' },
          }),
    },
  };
}
