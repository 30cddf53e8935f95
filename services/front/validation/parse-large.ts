import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { parseJson } from './input.ts';

/** Result of the thread that parses large bodies. Errors would lose their class in the transfer. */
export type Parsed = { readonly value: unknown } | { readonly refusal: string };

/** Input of the thread; `maxValues` as for `scanJson`. */
export interface Unparsed {
  readonly bytes: Uint8Array;
  readonly maxValues?: number | undefined;
}

/** Runs in a separate thread. */
export default function parseLarge({ bytes, maxValues }: Unparsed): Parsed {
  try {
    return { value: parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), maxValues) };
  } catch (error) {
    if (error instanceof ServiceError) return { refusal: error.message };
    throw error;
  }
}
