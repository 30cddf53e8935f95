/** The token of an `Authorization: Bearer <token>` header (RFC 6750; the scheme in any case), or null. */
export function bearerToken(authorization: string | undefined): string | null {
  return /^bearer +(\S+)\s*$/i.exec(authorization ?? '')?.[1] ?? null;
}
