import { ServiceError } from '@webcapture/shared/errors/service-error.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Standard or URL-safe, not both at once; the padding is optional. */
const base64 = /^(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}$/;

/**
 * The html as text: as it is when it holds a `<`, else out of base64 (standard or URL-safe, line breaks allowed) of
 * UTF-8.
 *
 * @throws ServiceError VALIDATION_ERROR when it is neither
 */
export function decodeHtml(html: string): string {
  if (html.includes('<')) return html;
  const packed = html.replaceAll(/[\t\n\f\r ]/g, '');
  const bare = packed.replace(/=+$/, '');
  // Of four letters, one alone holds no byte; padding, where there is any, fills up to four.
  const wellFormed = base64.test(packed) && bare.length % 4 !== 1 && (bare === packed || packed.length % 4 === 0);
  if (!wellFormed) throw notHtml();
  try {
    return utf8.decode(Buffer.from(packed, 'base64'));
  } catch {
    throw notHtml();
  }
}

function notHtml(): ServiceError {
  return new ServiceError(
    'VALIDATION_ERROR',
    'html must be HTML (it contains "<") or base64 (standard or URL-safe) of HTML in UTF-8',
  );
}
