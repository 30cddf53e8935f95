import { Type } from 'typebox';

/** Returns the schema of a string with one of these values. */
export const oneOf = <const T extends readonly string[]>(values: T, options: object = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });
