import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { errors } from 'playwright';
import { describe, expect, test } from 'vitest';
import { assertWeb, throwIfLost } from '../../../services/renderer/page/navigate.ts';
import { failed, late, open, pageOf, type Site, url } from '../../harness/navigating-page.ts';

describe('a page that cannot be opened', () => {
  const failure = (site: Site) =>
    open(site).then(
      () => expect.unreachable(),
      (error: unknown) => error as ServiceError,
    );

  test('that does not answer in time', async () => {
    for (const cause of [new errors.TimeoutError('late'), new DeadlineError('late', 1)]) {
      const error = await failure({ goto: () => Promise.reject(cause) });
      expect(error).toMatchObject({
        code: 'CAPTURE_TIMEOUT',
        causedBy: 'page',
        message: 'The page did not answer within 30000 ms. Set a larger timeout to wait longer.',
        cause,
      });
    }
  });

  test('at an address that was refused in time', async () => {
    const failureOf = (asked: string) => (asked === 'http://moved.test/' ? 'blocked' : undefined);
    const moved = { goto: late, failureOf, document: { requestedUrl: 'http://moved.test/' } };
    const error = await failure(moved);
    expect(error).toMatchObject({ code: 'URL_BLOCKED', message: expect.stringContaining('moved.test') });
    expect(error.cause).toBeInstanceOf(errors.TimeoutError);
    const other = { ...moved, document: { requestedUrl: undefined } };
    expect(await failure(other)).toMatchObject({ code: 'CAPTURE_TIMEOUT' });
    const own = { ...other, failureOf: (asked: string) => (asked === url ? 'blocked' : undefined) };
    expect(await failure(own)).toMatchObject({ code: 'URL_BLOCKED' });
  });

  test('because the capture ended', async () => {
    const ended = new ServiceError('CAPTURE_FAILED', 'ended', { causedBy: 'client' });
    expect(await failure({ goto: () => Promise.reject(ended) })).toBe(ended);
  });

  test('for the reason that the browser gives', async () => {
    const goto = failed('page.goto: net::ERR_UNSAFE_PORT at http://page.test');
    expect(await failure({ goto })).toMatchObject({
      code: 'NAVIGATION_FAILED',
      message: 'Browsers refuse the port of this address.',
      cause: expect.objectContaining({ message: expect.stringContaining('page.goto') }),
    });
    const document = { failure: { url, netError: 'net::ERR_CONNECTION_REFUSED' } };
    expect(await failure({ goto, document })).toMatchObject({ message: expect.stringContaining('was refused') });
    expect(await failure({ goto: failed('Target closed') })).toMatchObject({
      message: 'The page at page.test could not be opened.',
    });
    // A page whose document arrived before the connection failed is not a download.
    const answer = { url, status: 200, headers: {} };
    expect(await failure({ goto, document: { answer } })).toMatchObject({ message: expect.stringContaining('port') });
  });

  test.each([204, 205])('because the answer with status %i has no page', async (status) => {
    const document = { answer: { url, status, headers: {} } };
    const goto = failed('net::ERR_ABORTED');
    expect(await failure({ goto, document })).toMatchObject({
      code: 'NAVIGATION_FAILED',
      message: `The server answered with status ${status} and without a page.`,
      cause: expect.objectContaining({ message: 'net::ERR_ABORTED' }),
    });
  });

  test.each([
    ['application/zip', 'application/zip'],
    ['image/svg+xml ; charset=utf-8', 'image/svg+xml'],
    ['application/vnd.ms-excel;a=b;c', 'application/vnd.ms-excel'],
    ['a/b c', 'unknown type'],
    ['<b> a/b', 'unknown type'],
    ['zip', 'unknown type'],
    [undefined, 'unknown type'],
  ])('because it is a download of the type %s', async (given, type) => {
    const headers = given === undefined ? {} : { 'content-type': given };
    const document = { answer: { url, status: 200, headers } };
    expect(await failure({ goto: failed('Download is starting'), document })).toMatchObject({
      code: 'NAVIGATION_FAILED',
      message: `The address is a file to download (${type}), not a page.`,
      cause: expect.objectContaining({ message: 'Download is starting' }),
    });
    const before = { answer: { ...document.answer, url: 'http://before.test/' } };
    expect(await failure({ goto: failed('net::ERR_ABORTED'), document: before })).toMatchObject({
      message: 'The page at page.test could not be opened.',
    });
  });

  test('because the browser shows an error page', async () => {
    await expect(open({ shownUrl: () => 'chrome-error://chromewebdata/' }, 'commit')).rejects.toMatchObject({
      code: 'NAVIGATION_FAILED',
    });
  });
});

describe('throwIfLost', () => {
  const lostAt = (site: Site) => () => throwIfLost(pageOf(site).open);

  test('explains an error page by the last navigation', () => {
    const error = { shownUrl: () => 'chrome-error://chromewebdata/' };
    const failure = { url: 'http://failed.test/', netError: 'net::ERR_TOO_MANY_REDIRECTS' };
    expect(lostAt({ ...error, document: { failure } })).toThrow('redirects too many times');
    const refused = { ...failure, netError: 'net::ERR_CONNECTION_REFUSED' };
    expect(lostAt({ ...error, document: { failure: refused } })).toThrow('The connection to failed.test was refused.');
    expect(lostAt(error)).toThrow('The page at page.test could not be opened.');
    expect(lostAt({ ...error, document: { requestedUrl: undefined } })).toThrow('The page at the address could not');
    expect(lostAt({ shownUrl: () => `${url}#chrome-error:` })).not.toThrow();
  });

  test('refuses a page whose last request was blocked, unless it is navigating', () => {
    const blocked = { wasBlocked: (asked: string) => asked === url };
    expect(lostAt(blocked)).toThrow(expect.objectContaining({ code: 'URL_BLOCKED' }));
    expect(lostAt({ ...blocked, document: { moving: true } })).not.toThrow();
    expect(lostAt({ wasBlocked: () => true, document: { requestedUrl: undefined } })).not.toThrow();
    expect(lostAt({})).not.toThrow();
  });
});

test('assertWeb refuses addresses that are not http or https', () => {
  for (const each of ['http://a.test', 'HTTPS://a.test']) assertWeb({ kind: 'url', url: each });
  assertWeb({ kind: 'html', html: 'file:///etc/passwd' });
  for (const each of ['file:///etc/passwd', 'view-source:http://a.test', 'http:a', 'about:blank'])
    expect(() => assertWeb({ kind: 'url', url: each }), each).toThrow(
      expect.objectContaining({
        code: 'NAVIGATION_FAILED',
        message: 'Only http and https addresses can be captured.',
      }),
    );
});
