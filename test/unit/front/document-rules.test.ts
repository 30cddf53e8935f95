import { expect, test } from 'vitest';
import { attachmentsOf } from '../../../services/front/capture/document-rules.ts';

const attachment = (content: string, more: object = {}) => {
  const [file] = attachmentsOf([{ name: 'a', content, ...more }]);
  return file;
};

test.each([
  ['<a/>', 'text/html', '<a/>'],
  ['ü', 'text/html', 'ü'],
  ['data:,', 'text/plain', ''],
  ['data:application/xml,%3Ca/>ü%C3%BC', 'application/xml', '<a/>üü'],
  ['data:Text/CSV;charset=utf-8,a,b', 'text/csv', 'a,b'],
  ['data:not a type,a', 'text/plain', 'a'],
  ['DATA:a/b;x=y; BASE64 ,YWJj', 'a/b', 'abc'],
  ['data:;base64,Y W%0AI%3D', 'text/plain', 'ab'],
  ['data:;base64,YWI', 'text/plain', 'ab'],
  ['data:;base64,__-_', 'text/plain', Buffer.from('//+/', 'base64').toString()],
  ['data:base64,YWI', 'text/plain', 'YWI'],
])('the content %j is a file of type %s with %j', (content, mimeType, text) => {
  const file = attachment(content);
  expect(file).toMatchObject({ name: 'a', mimeType, relationship: 'Unspecified' });
  expect(Buffer.from(file?.content ?? '', 'base64').toString()).toBe(text);
});

test('the media type of the request takes precedence, and a description remains', () => {
  const fields = { mimeType: 'application/xml', description: 'd', relationship: 'Data' };
  expect(attachment('data:text/plain,a', fields)).toEqual({ name: 'a', content: 'YQ==', ...fields });
  expect(attachment('<a/>', { mimeType: 'application/xml' })).not.toHaveProperty('description');
});
