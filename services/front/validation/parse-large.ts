import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { parseJson } from './input.ts';

/** Result of the thread that parses large bodies. Errors would lose their class in the transfer. */
export type Parsed = { readonly value: unknown } | { readonly refusal: string };

/** Runs in a separate thread. */
export default function parseLarge(bytes: Uint8Array): Parsed {
  try {
    return { value: parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) };
  } catch (error) {
    if (error instanceof ServiceError) return { refusal: error.message };
    throw error;
  }
}
