import { describe, expect, test } from 'vitest';
import { maxBodyBytes } from '../../../../services/front/api/capture-body.ts';
import { accepted, url, useValidation } from './use-validation.ts';

const { app, post } = useValidation();

describe('an invalid request body', () => {
  const type = { 'content-type': 'application/json' };
  test.each<[string, string, Record<string, string>, string]>([
    ['an empty one', '', type, 'the body is empty'],
    ['half an object', '{', type, 'the body is not valid JSON'],
    ['a comma too many', '{"url":"https://example.com/",}', type, 'the body is not valid JSON'],
    ['an array', '[]', type, 'the body must be a JSON object, not an array'],
    ['null', 'null', type, 'the body must be a JSON object, not null'],
    ['a string', '"text"', type, 'the body must be a JSON object, not "text"'],
    ['a number', '7', type, 'the body must be a JSON object, not 7'],
    ['text', '{}', { 'content-type': 'text/plain' }, 'Content-Type: application/json'],
    ['a form', 'url=x', { 'content-type': 'application/x-www-form-urlencoded' }, 'Content-Type: application/json'],
    ['a nonsense type', '{}', { 'content-type': 'nonsense' }, 'Content-Type: application/json'],
    ['too much', `{"html":"${'x'.repeat(maxBodyBytes)}"}`, type, 'the body is larger than 8 MiB'],
    ['__proto__', `{"url":"${url}","__proto__":{"format":"pdf"}}`, type, '__proto__ is not a field of the request'],
    [
      '__proto__ in an object',
      `{"url":"${url}","viewport":{"__proto__":{}}}`,
      type,
      'viewport.__proto__ is not a field of the request',
    ],
    [
      'constructor',
      `{"url":"${url}","constructor":{"prototype":{}}}`,
      type,
      'constructor is not a field of the request',
    ],
  ])('is refused: %s', async (_name, payload, headers, message) => {
    const answer = await post(payload, headers);
    expect(answer).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(answer.message).toContain(message);
  });

  test('is refused if the request has no body', async () => {
    const response = await app().inject({ method: 'POST', url: '/capture' });
    expect(response.statusCode).toBe(400);
    expect(response.json()).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  });

  test('the last value of a repeated field counts', async () => {
    expect(await post(`{"url":"nonsense","url":"${url}"}`)).toMatchObject(accepted);
  });
});
