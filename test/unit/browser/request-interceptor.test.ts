import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { RequestInterceptor, type RequestRule } from '../../../services/renderer/browser/request-interceptor.ts';
import { TargetTree } from '../../../services/renderer/browser/target-tree.ts';
import { addPrivateObjects } from '../../harness/private-objects.ts';

const blocking: RequestRule = {
  patterns: [{ urlPattern: '*' }, { resourceType: 'Fetch', requestStage: 'Response' }],
  blocks: ({ request }) => request.url.includes('ad'),
};
const secret = [{ name: 'X-Secret', value: 'secret' }];
const headers: RequestRule = {
  patterns: [{ urlPattern: 'http://own.test/*' }],
  headersOf: ({ url }) => (url.startsWith('http://own.test/') ? secret : undefined),
};

/** Adds rules for a page. Returns the commands that the browser received. */
async function intercept(...rules: readonly RequestRule[]) {
  const sent: (readonly [name: string, params: object | undefined])[] = [];
  const session = Object.assign(new EventEmitter(), {
    send: async (name: string, params?: object) => void sent.push([name, params]),
    detach: () => undefined,
  });
  const context = {};
  const page = { context: () => context };
  addPrivateObjects(page, context, async () => session);
  const requests = new RequestInterceptor(new TargetTree(page as never));
  for (const rule of rules) await requests.add(rule);
  const pause = async (url: string, more: object = {}) => {
    sent.length = 0;
    session.emit('Fetch.requestPaused', { requestId: '1', request: { url, headers: {} }, ...more });
    await setImmediate();
    return sent;
  };
  return { sent, pause };
}

test('the rules of a page share one interception, with the patterns of all', async () => {
  const { sent } = await intercept(blocking, headers);
  expect(sent.filter(([name]) => name === 'Fetch.enable').at(-1)).toEqual([
    'Fetch.enable',
    { patterns: [...blocking.patterns, ...headers.patterns], handleAuthRequests: false },
  ]);
});

test('a request is blocked, or is sent with the headers of another rule', async () => {
  for (const rules of [
    [blocking, headers],
    [headers, blocking],
  ]) {
    const { pause } = await intercept(...rules);
    expect(await pause('http://own.test/ad')).toEqual([
      ['Fetch.failRequest', { requestId: '1', errorReason: 'BlockedByClient' }],
    ]);
    expect(await pause('http://own.test/')).toEqual([['Fetch.continueRequest', { requestId: '1', headers: secret }]]);
    expect(await pause('http://cdn.test/')).toEqual([['Fetch.continueRequest', { requestId: '1' }]]);
  }
});

test('a request whose response has arrived continues without headers', async () => {
  const { pause } = await intercept(blocking, headers);
  for (const response of [{ responseStatusCode: 200 }, { responseErrorReason: 'Failed' }]) {
    expect(await pause('http://own.test/', response)).toEqual([['Fetch.continueRequest', { requestId: '1' }]]);
  }
});
