import { EventEmitter } from 'node:events';
import { delay } from '@webcapture/shared/runtime/deadline.ts';
import type { Page, Request } from 'playwright';
import { beforeEach, describe, expect, test } from 'vitest';
import type { PageSession } from '../../../services/renderer/browser/driver.ts';
import {
  isContent,
  isOfFrame,
  LoadingRequests,
  type NetworkWatch,
  watchNetwork,
} from '../../../services/renderer/page/network.ts';

const main = { parentFrame: () => null };
const child = { parentFrame: () => main };

const requestOf = (type: string, frame: object | null = main) =>
  ({
    resourceType: () => type,
    frame: () => {
      if (frame === null) throw new Error('a request of a worker, or of a frame that is gone');
      return frame;
    },
  }) as unknown as Request;

let page: EventEmitter;
let cdp: EventEmitter;
let stats: { bytesReceived: number };
let watch: NetworkWatch;
beforeEach(() => {
  page = Object.assign(new EventEmitter(), { mainFrame: () => main });
  cdp = new EventEmitter();
  stats = { bytesReceived: 0 };
  watch = watchNetwork(page as unknown as Page, { stats: () => stats as never }, cdp as unknown as PageSession);
  return () => watch.stop();
});

const ask = (type: string, frame: object | null = main) => {
  const request = requestOf(type, frame);
  page.emit('request', request);
  return request;
};
const answer = (request: Request) => page.emit('response', { request: () => request });

/** Returns the milliseconds until the promise resolves. */
const timeOf = async (work: Promise<unknown>) => {
  const start = performance.now();
  await work;
  return performance.now() - start;
};

/** A promise, and whether it has resolved. */
const observed = (work: Promise<unknown>) => {
  const seen = { isDone: false, work };
  void work.then(() => (seen.isDone = true));
  return seen;
};

describe('the state', () => {
  test.each([
    ['fetch', main, true],
    ['xhr', main, true],
    ['script', main, true],
    ['image', main, false],
    ['document', main, false],
    ['fetch', child, false],
  ])('of a page with a request for a %s', (type, frame, isFetching) => {
    expect([watch.isLoading, watch.isFetching]).toEqual([false, false]);
    const request = ask(type, frame);
    expect([watch.isLoading, watch.isFetching]).toEqual([true, isFetching]);
    answer(request);
    expect([watch.isLoading, watch.isFetching]).toEqual([true, isFetching]);
    page.emit('requestfinished', request);
    expect([watch.isLoading, watch.isFetching]).toEqual([false, false]);
    page.emit('requestfailed', ask(type, frame));
    expect([watch.isLoading, watch.isFetching]).toEqual([false, false]);
  });

  test('after the end', () => {
    watch.stop();
    ask('fetch');
    page.emit('websocket', new EventEmitter());
    expect([watch.isLoading, watch.isListening]).toEqual([false, false]);
    expect([page.eventNames(), cdp.eventNames()]).toEqual([[], []]);
  });
});

describe('untilQuiet', () => {
  test('waits for half a second without requests', async () => {
    expect(await timeOf(watch.untilQuiet())).toBeGreaterThan(490);
    ask('image');
    const request = ask('image');
    answer(request);
    const waited = observed(watch.untilQuiet());
    await delay(700);
    expect(waited.isDone).toBe(false);
    watch.stop();
    await waited.work;
  });

  test('waits while bytes arrive', async () => {
    const waited = observed(watch.untilQuiet());
    for (let count = 1; count < 40; count += 1) {
      await delay(20);
      stats.bytesReceived += 1;
    }
    expect(waited.isDone).toBe(false);
    expect(await timeOf(waited.work)).toBeGreaterThan(400);
  });

  test('does not count time in which the process is blocked', async () => {
    const waited = observed(watch.untilQuiet());
    await delay(20);
    const end = performance.now() + 600;
    while (performance.now() < end);
    await delay(20);
    expect(waited.isDone).toBe(false);
    await waited.work;
    expect(watch.hasStalled).toBe(true);
  });
});

describe('untilFetched', () => {
  test('returns whether the requests of scripts have ended', async () => {
    expect(await watch.untilFetched(0)).toBe(true);
    const request = ask('fetch');
    expect(await watch.untilFetched(50)).toBe(false);
    const waited = observed(watch.untilFetched(60_000));
    await delay(700);
    expect(waited.isDone).toBe(false);
    page.emit('requestfinished', request);
    expect(await waited.work).toBe(true);
  });

  test('gives up a response that is not read, and ends with the watch', async () => {
    const request = ask('fetch');
    answer(request);
    expect(await watch.untilFetched(60_000)).toBe(false);
    ask('fetch');
    const waited = watch.untilFetched(60_000);
    watch.stop();
    expect(await waited).toBe(false);
  });
});

test('untilFetching waits for a request of a script', async () => {
  expect(await timeOf(watch.untilFetching(50))).toBeGreaterThan(45);
  const waited = observed(watch.untilFetching(60_000));
  ask('image');
  await delay(50);
  expect(waited.isDone).toBe(false);
  ask('fetch');
  await waited.work;
  await watch.untilFetching(60_000);
});

describe('connections', () => {
  const open = () => {
    const socket = new EventEmitter();
    page.emit('websocket', socket);
    return socket;
  };

  test('of sockets are awaited until their messages have arrived', async () => {
    expect(watch.isListening).toBe(false);
    expect(await watch.untilHeard(0)).toBe(true);
    const socket = open();
    expect(watch.isListening).toBe(true);
    expect(await watch.untilHeard(30)).toBe(false);
    const start = performance.now();
    const waited = watch.untilHeard(60_000);
    socket.emit('framereceived');
    expect(watch.isListening).toBe(true);
    expect(await waited).toBe(true);
    expect(performance.now() - start).toBeGreaterThan(240);
    expect(watch.isListening).toBe(false);
  });

  test('of sockets are not awaited if they send again and again, or are closed', () => {
    const socket = open();
    for (let count = 0; count < 9; count += 1) socket.emit('framereceived');
    expect(watch.isListening).toBe(true);
    socket.emit('framereceived');
    expect(watch.isListening).toBe(false);
    const other = open();
    expect(watch.isListening).toBe(true);
    other.emit('close');
    expect(watch.isListening).toBe(false);
  });

  test('of event streams are awaited too', async () => {
    const request = ask('eventsource');
    const socket = open();
    for (let count = 0; count < 10; count += 1) cdp.emit('Network.eventSourceMessageReceived');
    // The messages of the event source do not affect the socket.
    expect(watch.isListening).toBe(true);
    socket.emit('close');
    expect(watch.isListening).toBe(false);
    page.emit('requestfinished', request);
    const other = ask('eventsource');
    expect(watch.isListening).toBe(true);
    page.emit('requestfailed', other);
    expect(watch.isListening).toBe(false);
    open();
    const waited = watch.untilHeard(60_000);
    watch.stop();
    expect(await waited).toBe(false);
  });
});

test('isContent and isOfFrame tell requests apart', () => {
  const all = ['xhr', 'fetch', 'script', 'document', 'stylesheet', 'image', 'font', 'media', 'other'];
  expect(all.filter((type) => isContent(requestOf(type)))).toEqual(['xhr', 'fetch', 'script', 'document']);
  expect(all.filter((type) => isOfFrame(requestOf(type, child)))).toEqual([
    'script',
    'document',
    'stylesheet',
    'image',
    'font',
  ]);
  expect(all.filter((type) => isOfFrame(requestOf(type)))).toEqual([]);
  expect(isOfFrame(requestOf('image', null))).toBe(false);
});

test('LoadingRequests counts the requests that are wanted, and resolves when none is open', async () => {
  const loading = new LoadingRequests(page as unknown as Page, isContent);
  await loading.none();
  ask('image');
  expect([loading.begun, loading.open]).toEqual([0, 0]);
  const [one, two] = [ask('fetch'), ask('fetch')];
  expect([loading.begun, loading.open]).toEqual([2, 2]);
  const waited = observed(loading.none());
  page.emit('requestfinished', one);
  page.emit('requestfinished', one);
  await delay(1);
  expect([loading.open, waited.isDone]).toEqual([1, false]);
  page.emit('requestfailed', two);
  await waited.work;
  expect([loading.begun, loading.open]).toEqual([2, 0]);
  ask('fetch');
  const stopped = loading.none();
  loading.stop();
  await stopped;
  ask('fetch');
  expect([loading.begun, loading.open]).toEqual([3, 0]);
});
