import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { compileOnUse } from '../../../services/front/validation/compile-on-use.ts';

test('a schema is compiled at its first validation, with the errors and defaults of ajv', () => {
  let compiled = 0;
  const ajv = compileOnUse(new Ajv({ useDefaults: true }));
  ajv.addKeyword({
    keyword: 'counted',
    compile: () => {
      compiled++;
      return () => true;
    },
  });
  const validate = ajv.compile({
    type: 'object',
    properties: { size: { type: 'integer', default: 7 }, name: { type: 'string', counted: true } },
  });
  const unused = ajv.compile({ type: 'no such type' });
  expect(compiled).toBe(0);

  const value = { name: 'a' };
  expect(validate(value)).toBe(true);
  expect(compiled).toBe(1);
  expect(value).toEqual({ name: 'a', size: 7 });
  expect(validate({ size: 'large' })).toBe(false);
  expect(validate.errors).toMatchObject([{ instancePath: '/size', keyword: 'type' }]);
  expect(() => unused({})).toThrow('schema is invalid');
});
