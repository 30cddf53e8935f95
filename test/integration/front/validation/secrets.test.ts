import { describe, expect, test } from 'vitest';
import { accepted, url, useValidation } from './use-validation.ts';

const { ask } = useValidation();

describe('secrets', () => {
  /** Returns headers of exactly `bytes` bytes as JSON, together with empty cookies and auth. */
  const credentials = (bytes: number) => {
    const lengthOf = (headers: object) => JSON.stringify([headers, [], null]).length;
    const value = 'a'.repeat(Math.floor((bytes - lengthOf(many(5, ''))) / 5));
    const headers: Record<string, string> = many(5, value);
    headers['x-0'] += 'a'.repeat(bytes - lengthOf(headers));
    return { headers };
  };
  const many = (count: number, value = 'v') =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, value]));
  const cookie = { name: 'sid', value: 'v' };

  test.each<[string, object]>([
    ['50 headers', { headers: many(50) }],
    ['no headers', { headers: {} }],
    ['a bearer', { headers: { Authorization: 'Bearer a.b-c_d~e+f/g==' } }],
    ['an empty header, and one with a tab', { headers: { 'x-a': '', 'x-b': 'a\tb' } }],
    ['32 KiB of headers', credentials(32_768)],
    ['the longest header', { headers: { 'x-a': 'v'.repeat(8192) } }],
    ['the longest origin', { headers: {}, headersFor: [`https://${'a'.repeat(2040)}`] }],
    ['20 other origins', { headers: {}, headersFor: Array(20).fill('https://cdn.example.com:8443') }],
    ['100 cookies', { cookies: Array(100).fill(cookie) }],
    ['a cookie of a domain', { cookies: [{ ...cookie, domain: '.example.com', path: '/a b', httpOnly: true }] }],
    [
      'a cookie of an address',
      { cookies: [{ ...cookie, url: 'https://example.com/a?b', secure: true, sameSite: 'None' }] },
    ],
    [
      'the longest cookie',
      {
        cookies: [
          { name: 'n'.repeat(256), value: 'v'.repeat(4096), domain: 'd'.repeat(253), path: `/${'p'.repeat(1023)}` },
        ],
      },
    ],
    ['the longest address of a cookie', { cookies: [{ ...cookie, url: `https://example.com/${'a'.repeat(2028)}` }] }],
    ['a cookie of this host alone', { cookies: [{ name: '__Host-a', value: '', path: '/', secure: true }] }],
    ['basic auth', { auth: { username: 'u', password: '' } }],
    ['the longest auth', { auth: { username: 'u'.repeat(1024), password: 'p:'.repeat(512) } }],
    ['64 KiB of css, and of script', { css: 'a'.repeat(65_536), script: 'a'.repeat(65_536) }],
    [
      'the longest texts together',
      {
        format: 'pdf',
        css: 'a'.repeat(65_536),
        script: 'a'.repeat(65_536),
        pdf: { headerTemplate: 'a'.repeat(65_536), footerTemplate: 'a'.repeat(65_536) },
      },
    ],
    ['css for paper', { css: '@page { size: A5 }', format: 'pdf' }],
  ])('%s is accepted', async (_name, body) => {
    expect(await ask({ url, ...body })).toMatchObject(accepted);
  });

  test.each<[object, string]>([
    [{ headers: many(51) }, 'headers must be an object'],
    [{ headers: { 'x-a': 'hunter2'.repeat(1171) } }, 'headers.x-a must be a string of at most 8192 characters'],
    [{ headers: { 'x-a': 22_222_222 } }, 'headers.x-a must be a string of at most 8192 characters, not a number'],
    [{ headers: { 'x a': 'hunter2' } }, 'headers: a name that begins with "x" is not a valid header name'],
    [{ headers: { 'x-a': 'hunter2\r\nx-b: 1' } }, 'headers.x-a must have visible ASCII characters'],
    [{ headers: { 'x-a': ' hunter2' } }, 'headers.x-a must have visible ASCII characters'],
    [{ headers: { 'x-a': 'hunter2', 'X-A': 'hunter2' } }, 'headers.X-A is given twice'],
    [{ headers: { Host: 'hunter2' } }, 'headers.Host cannot be set: it is determined by url'],
    [{ headers: { COOKIE: 'sid=hunter2' } }, 'headers.COOKIE cannot be set: use cookies'],
    [{ headers: { 'user-agent': 'hunter2' } }, 'headers.user-agent cannot be set: use userAgent'],
    [{ headers: { 'Proxy-Authorization': 'hunter2' } }, 'headers.Proxy-Authorization cannot be set: it controls'],
    [{ headers: { te: 'hunter2' } }, 'headers.te cannot be set: it controls the connection'],
    [{ headers: 'hunter2' }, 'headers must be an object of 0 to 50 fields, not a string of 7 characters'],
    [credentials(32_769), 'headers, cookies and auth must have at most 32768 bytes together, as JSON'],
    [{ headersFor: ['https://cdn.example.com'] }, 'headersFor needs headers'],
    [{ headers: {}, headersFor: Array(21).fill('https://a.example') }, 'headersFor must be a list of at most 20'],
    [
      { headers: {}, headersFor: ['https://a.example', 'https://b.example/c'] },
      'headersFor.1 must be an http or https origin',
    ],
    [{ headers: {}, headersFor: ['https://u:hunter2@a.example'] }, 'headersFor.0 must be an http or https origin'],
    [{ cookies: Array(101).fill(cookie) }, 'cookies must be a list of at most 100'],
    [{ cookies: ['sid=hunter2'] }, 'cookies.0 must be an object with name, value'],
    [{ cookies: [{ name: 'sid' }] }, 'cookies.0.value is required'],
    [{ cookies: [{ name: 's;d', value: 'v' }] }, 'cookies.0.name must be a valid cookie name'],
    [{ cookies: [{ name: 'sid', value: 'hunter2; path=/' }] }, 'cookies.0.value must not contain semicolons'],
    [{ cookies: [{ ...cookie, value: 'hunter2 ' }] }, 'or begin or end with a space'],
    [{ cookies: [{ ...cookie, value: ' hunter2' }] }, 'or begin or end with a space'],
    [{ cookies: [{ ...cookie, value: 'hunter2\t' }] }, 'or control characters'],
    [{ cookies: [{ ...cookie, value: 'hunter2'.repeat(586) }] }, 'cookies.0.value must be a string of at most 4096'],
    [{ cookies: [{ ...cookie, name: 'n'.repeat(257) }] }, 'cookies.0.name must be a string of 1 to 256 characters'],
    [{ cookies: [{ ...cookie, domain: 'd'.repeat(254) }] }, 'cookies.0.domain must be a string of 1 to 253 characters'],
    [{ cookies: [{ ...cookie, path: `/${'p'.repeat(1024)}` }] }, 'cookies.0.path must be a string of 1 to 1024'],
    [{ cookies: [{ ...cookie, url: `https://example.com/${'a'.repeat(2029)}` }] }, 'cookies.0.url must be a string of'],
    [{ headers: {}, headersFor: [`https://${'a'.repeat(2041)}`] }, 'headersFor.0 must be a string of 1 to 2048'],
    [{ headers: {}, headersFor: ['https://*.example.com'] }, 'headersFor.0 must be an http or https origin'],
    [{ cookies: [{ ...cookie, domain: '1.2.3.4.5' }] }, 'cookies.0.domain must be a host name'],
    ...[
      'file:///etc/passwd',
      'data:text/html,x',
      'view-source:https://a.example',
      'http://u:hunter2@a.example',
      '//a.example',
      'http:\\\\a.example',
    ].map((address): [object, string] => [
      { cookies: [{ ...cookie, url: address }] },
      'cookies.0.url must be an absolute http or https address',
    ]),
    [{ cookies: [{ ...cookie, url: 'ftp://example.com' }] }, 'cookies.0.url must be an absolute http or https address'],
    [
      { cookies: [{ ...cookie, url: 'javascript:hunter2' }] },
      'cookies.0.url must be an absolute http or https address',
    ],
    [{ cookies: [{ ...cookie, url, domain: 'example.com' }] }, 'cookies.0: url excludes domain and path'],
    [{ cookies: [{ ...cookie, domain: 'exa mple' }] }, 'cookies.0.domain must be a host name'],
    [{ cookies: [{ ...cookie, path: 'a' }] }, 'cookies.0.path must begin with a slash'],
    [{ cookies: [{ ...cookie, sameSite: 'none' }] }, 'cookies.0.sameSite must be one of Strict, Lax, None'],
    [{ cookies: [{ ...cookie, sameSite: 'None' }] }, 'cookies.0: sameSite None needs secure true'],
    [{ cookies: [{ ...cookie, name: '__Secure-a' }] }, 'cookies.0: a name that begins with __Secure-'],
    [
      { cookies: [{ ...cookie, name: '__Host-a', secure: true, domain: 'a.b' }] },
      'cookies.0: a name that begins with __Host-',
    ],
    [{ url: undefined, html: '<p>', cookies: [cookie] }, 'cookies.0 needs url or domain: supplied html has no host'],
    [{ auth: 'user:hunter2' }, 'auth must be an object with username, password, not a string of 12 characters'],
    [{ auth: { username: 'u' } }, 'auth.password is required'],
    [{ auth: { username: 'u:v', password: 'hunter2' } }, 'auth.username must not contain a colon'],
    [{ auth: { username: '', password: 'hunter2' } }, 'auth.username must be a string of 1 to 1024 characters'],
    [
      { auth: { username: 'u', password: 'p'.repeat(1025) } },
      'auth.password must be a string of at most 1024 characters',
    ],
    [{ url: undefined, html: '<p>', auth: { username: 'u', password: 'hunter2' } }, 'auth needs url'],
    [{ css: '' }, 'css must be a string of 1 to 65536 characters'],
    [{ css: 'é'.repeat(32_769) }, 'css must have at most 65536 bytes in UTF-8'],
    [{ script: 'a'.repeat(65_537) }, 'script must be a string of 1 to 65536 characters'],
    [{ script: 'hunter2', javaScript: false }, 'script needs javaScript true'],
    [{ css: '\n'.repeat(65_536), script: '\n'.repeat(65_536) }, 'must have at most 196608 bytes together, as JSON'],
    [
      { auth: { username: 'u', password: 'hunter2' }, background: true },
      'auth cannot be combined with background here',
    ],
    [
      { css: 'hunter2', headers: {}, persistence: { enabled: true } },
      'headers, css cannot be combined with persistence here: they would have to be stored, but the operator has set no WEBCAPTURE_SECRETS_KEY',
    ],
  ])('%j is refused without repeating the secret', async (body, message) => {
    const answer = await ask({ url, ...body });
    expect(answer).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(answer.message).toContain(message);
    expect(answer.message).not.toContain('hunter2');
    expect(answer.message).not.toContain('2222');
  });
});
