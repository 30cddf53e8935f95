import { EventEmitter } from 'node:events';
import type { Page } from 'playwright';
import { beforeEach, describe, expect, test } from 'vitest';
import { MainDocument } from '../../../services/renderer/page/main-document.ts';

const main = {};
const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

let page: EventEmitter;
let document: MainDocument;
let moves: number;
beforeEach(() => {
  moves = 0;
  page = Object.assign(new EventEmitter(), { mainFrame: () => main });
  document = new MainDocument(page as unknown as Page, () => void (moves += 1));
});

const requestOf = (url: string, { isNavigation = true, frame = main, error = 'net::ERR_FAILED' } = {}) => ({
  url: () => url,
  isNavigationRequest: () => isNavigation,
  frame: () => frame,
  failure: () => (error === '' ? null : { errorText: error }),
});
const ask = (url: string, more?: Parameters<typeof requestOf>[1]) => {
  const request = requestOf(url, more);
  page.emit('request', request);
  return request;
};
const answer = (request: object, status = 200) =>
  page.emit('response', {
    request: () => request,
    url: () => 'http://answer.test/',
    status: () => status,
    headers: () => ({ a: 'b' }),
  });
const arrive = (frame: object = main) => page.emit('framenavigated', frame);
/** Loads a document, and returns its request. */
const load = (url = 'http://page.test/') => {
  const request = ask(url);
  arrive();
  return request;
};
const hasResolved = async (wait: Promise<void>) => {
  let isDone = false;
  void wait.then(() => (isDone = true));
  await turn();
  return isDone;
};

describe('a navigation', () => {
  test('is under way from its request to its document', async () => {
    expect([document.moving, document.requestedUrl, document.arrivals]).toEqual([false, undefined, 0]);
    const request = ask('http://page.test/');
    expect([document.moving, document.requestedUrl]).toEqual([true, 'http://page.test/']);
    answer(request);
    expect(document.answer).toEqual({ url: 'http://answer.test/', status: 200, headers: { a: 'b' } });
    const settled = document.settled();
    expect(await hasResolved(settled)).toBe(false);
    arrive();
    expect(await hasResolved(settled)).toBe(true);
    expect([document.moving, document.arrivals, moves]).toEqual([false, 1, 1]);
    expect(await hasResolved(document.settled())).toBe(true);
    expect(await hasResolved(document.stayed)).toBe(false);
  });

  test('is one of the main frame', () => {
    ask('http://page.test/script.js', { isNavigation: false });
    ask('http://frame.test/', { frame: {} });
    expect([document.moving, document.requestedUrl]).toEqual([false, undefined]);
    answer(requestOf('http://page.test/other'));
    expect(document.answer).toBeUndefined();
    ask('http://page.test/');
    arrive({});
    expect([document.moving, moves]).toEqual([true, 0]);
  });

  test('to a fragment brings no new document', () => {
    arrive();
    expect([document.arrivals, moves]).toEqual([0, 1]);
  });

  test.each([204, 205])('with status %i leaves the page in place', async (status) => {
    answer(ask('http://page.test/'), status);
    expect([document.moving, document.arrivals]).toEqual([false, 0]);
    expect(await hasResolved(document.stayed)).toBe(true);
  });

  test('with another status does not leave the page in place', async () => {
    answer(ask('http://page.test/'), 206);
    expect(await hasResolved(document.stayed)).toBe(false);
  });

  test('that is a download leaves the page in place', async () => {
    ask('http://page.test/');
    page.emit('download');
    expect(document.moving).toBe(false);
    expect(await hasResolved(document.stayed)).toBe(true);
  });

  test('that fails leaves the page in place, and its failure until the next one', async () => {
    page.emit('requestfailed', ask('http://page.test/'));
    expect(document.failure).toEqual({ url: 'http://page.test/', netError: 'net::ERR_FAILED' });
    expect(document.moving).toBe(false);
    expect(await hasResolved(document.stayed)).toBe(true);
    ask('http://page.test/');
    expect(document.failure).toBeUndefined();
    page.emit('requestfailed', ask('http://page.test/', { error: '' }));
    expect(document.failure?.netError).toBe('');
  });

  test('does not fail with another request', () => {
    ask('http://page.test/');
    page.emit('requestfailed', requestOf('http://page.test/image.png'));
    expect([document.moving, document.failure]).toEqual([true, undefined]);
  });
});

describe('a document whose transfer was cut off', () => {
  test('reaches no further state', async () => {
    const request = load();
    const { cutOff } = document;
    expect([document.isCutOff, await hasResolved(cutOff)]).toEqual([false, false]);
    page.emit('requestfailed', request);
    expect([document.isCutOff, await hasResolved(cutOff)]).toEqual([true, true]);
    expect(document.failure).toBeUndefined();
  });

  test('does not matter while the next one is under way', () => {
    const request = load();
    ask('http://page.test/next');
    page.emit('requestfailed', request);
    expect(document.isCutOff).toBe(false);
  });

  test('resolves earlier waits, also if they began before the next document', async () => {
    const first = document.cutOff;
    page.emit('requestfailed', load());
    const second = document.cutOff;
    const request = load('http://page.test/next');
    expect(document.isCutOff).toBe(false);
    const third = document.cutOff;
    expect(await hasResolved(third)).toBe(false);
    page.emit('requestfailed', request);
    for (const wait of [first, second, third]) expect(await hasResolved(wait)).toBe(true);
  });
});

test('stop ends the waits and removes the listeners', async () => {
  ask('http://page.test/');
  const settled = document.settled();
  document.stop();
  expect(await hasResolved(settled)).toBe(true);
  expect(page.eventNames()).toEqual([]);
});
