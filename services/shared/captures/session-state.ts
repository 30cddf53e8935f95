import { type Static, Type } from 'typebox';
import { oneOf } from '../api/one-of.ts';

const itemsSchema = Type.Array(Type.Object({ name: Type.String(), value: Type.String() }));

/** The cookies and the storage that a login left in the browser. The service never shows them. */
export const sessionStateSchema = Type.Object({
  cookies: Type.Array(
    Type.Object({
      name: Type.String({ maxLength: 4096 }),
      value: Type.String({ maxLength: 4096 }),
      domain: Type.String({ minLength: 1, maxLength: 255 }),
      path: Type.String({ minLength: 1, maxLength: 4096 }),
      /** Expiry in Unix seconds; -1 for a cookie that lasts until the browser closes. */
      expires: Type.Number(),
      httpOnly: Type.Boolean(),
      secure: Type.Boolean(),
      sameSite: oneOf(['Strict', 'Lax', 'None']),
      /** Top-level site in which a partitioned cookie was set; absent for other cookies. */
      partitionKey: Type.Optional(Type.String({ maxLength: 2048 })),
    }),
  ),
  /** Storage of each origin that the page visited. */
  origins: Type.Array(
    Type.Object({
      origin: Type.String({ pattern: '^https?://[^/\\s]+$', maxLength: 512 }),
      localStorage: itemsSchema,
      sessionStorage: itemsSchema,
    }),
  ),
});

export type SessionState = Static<typeof sessionStateSchema>;
export type OriginStorage = SessionState['origins'][number];
