import { Type } from 'typebox';

/** The schema of a string that is one of these. */
export const oneOf = <const T extends readonly string[]>(values: T, options: object) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });
