import { type Static, Type } from 'typebox';
import { oneOf } from './one-of.ts';

/** Query of GET /captures/{uuid}/diagnostics. */
export const diagnosticsQuerySchema = Type.Object(
  {
    format: oneOf(['json', 'har'], { default: 'json', description: 'har: the requests as an HTTP Archive (HAR 1.2).' }),
  },
  { additionalProperties: false },
);

export type DiagnosticsQuery = Static<typeof diagnosticsQuerySchema>;
