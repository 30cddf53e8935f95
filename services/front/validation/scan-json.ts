import { ServiceError } from '@webcapture/shared/runtime/errors.ts';

/** Maximum nesting of objects and arrays; the deepest valid body has three levels. */
const maxDepth = 32;

/** Maximum number of fields in one object, more than any valid request has. */
const maxFields = 100;

/** Maximum number of objects, lists and values by default; the largest valid body of one capture has about fifty. */
const defaultMaxValues = 1000;

const quote = 0x22;
const comma = 0x2c;
const openList = 0x5b;
const backslash = 0x5c;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/**
 * Refuses JSON that is cheap to send but expensive to parse: for 8 MiB of brackets, `JSON.parse` needs seconds, and a
 * hundred times the memory. Ignores invalid JSON, which the parser reports.
 *
 * @throws ServiceError VALIDATION_ERROR that names the limit
 */
export function scanJson(bytes: Buffer, maxValues = defaultMaxValues): void {
  const tooManyValues = () => invalid(`the body has more than ${maxValues} values`);
  /** The number of fields of each open object; -1 for an array. */
  const fields: number[] = [];
  let values = 1;
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case quote:
        // Advance to the quote that closes the string.
        for (at++; at < bytes.length && bytes[at] !== quote; at++) if (bytes[at] === backslash) at++;
        break;
      case openObject:
      case openList:
        if (fields.length === maxDepth) throw invalid(`the body is nested deeper than ${maxDepth} levels`);
        fields.push(bytes[at] === openObject ? 1 : -1);
        if (++values > maxValues) throw tooManyValues();
        break;
      case closeObject:
      case closeList:
        fields.pop();
        break;
      case comma: {
        const count = fields.at(-1) ?? -1;
        if (count === maxFields) throw invalid(`the body has an object of more than ${maxFields} fields`);
        if (count > 0) fields[fields.length - 1] = count + 1;
        if (++values > maxValues) throw tooManyValues();
        break;
      }
      default:
    }
  }
}

const invalid = (message: string) => new ServiceError('VALIDATION_ERROR', message);
