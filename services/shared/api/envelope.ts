import { Type, type TSchema } from 'typebox';
import { errorCodes, errorTable, type ErrorCode } from '../runtime/errors.ts';
import { oneOf } from './one-of.ts';

/** The envelope of every successful JSON response, except those of the status endpoints. */
export const successSchema = <T extends TSchema>(data: T) =>
  Type.Object({ success: Type.Literal(true), error: Type.Null(), data });

/** Returns the envelope of a failure. `codes` are the possible codes. */
export const failureSchema = (codes: readonly ErrorCode[] = errorCodes) =>
  Type.Object({
    success: Type.Literal(false),
    error: Type.Object({
      code: oneOf(codes),
      message: Type.String({
        description: 'Description of the error and of what to do. Use code, not message, in programs.',
      }),
    }),
    data: Type.Null(),
  });

export function success<T>(data: T): { success: true; error: null; data: T } {
  return { success: true, error: null, data };
}

export function failure(
  code: ErrorCode,
  message: string = errorTable[code].message,
): { success: false; error: { code: ErrorCode; message: string }; data: null } {
  return { success: false, error: { code, message }, data: null };
}
