/** The validators of a file: a strong tag without quotes, and Unix milliseconds. */
export interface Validators {
  readonly etag: string;
  readonly storedAt: number;
}

/** Whether the client has this very file already (RFC 9110, 13.1.2 and 13.1.3): then it is answered 304. */
export function isNotModified(
  headers: { readonly 'if-none-match'?: string | undefined; readonly 'if-modified-since'?: string | undefined },
  file: Validators,
): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) {
    return tags.trim() === '*' || tags.split(',').some((tag) => tag.trim().replace(/^W\//, '') === `"${file.etag}"`);
  }
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return inSeconds(file.storedAt) <= inSeconds(since);
}

/** Whether a Range header counts (RFC 9110, 13.1.5): without If-Range always, else for the very file that it names. */
export function isRangeMeant(ifRange: string | undefined, file: Validators): boolean {
  if (ifRange === undefined) return true;
  const value = ifRange.trim();
  if (value.startsWith('"')) return value === `"${file.etag}"`;
  return inSeconds(Date.parse(value)) === inSeconds(file.storedAt);
}

/** HTTP dates have no milliseconds. Not a number stays that, and equals nothing. */
const inSeconds = (time: number) => Math.floor(time / 1000);
