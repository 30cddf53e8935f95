import installed from 'playwright/package.json' with { type: 'json' };
import { expect, test } from 'vitest';
import { checkDriver } from '../../../services/renderer/browser/driver.ts';
import manifest from '../../../services/renderer/package.json' with { type: 'json' };

type Owner = 'browser' | 'context' | 'page' | 'session';

const ignore = () => undefined;

/** Returns Playwright's objects, without one of their private members. */
function objectsWithout(owner: string, path: string) {
  const client = { send: ignore, on: ignore, off: ignore, detach: ignore };
  const session = { _session: { ...client, _eventListener: ignore } };
  const rootSession = { ...client, prependListener: ignore, _sessionId: '', _connection: {} };
  const ofBrowser = { _connection: { rootSession, _transport: { _pipeRead: {}, _pipeWrite: {}, _dispatch: ignore } } };
  const implementations: Record<string, object> = {
    browser: ofBrowser,
    context: {
      _browser: { ...ofBrowser },
      _browserContextId: 'context',
      _options: {},
      newCDPSession: async () => session,
    },
    page: { delegate: { _targetId: 'main', _mainFrameSession: { _client: { ...client } } } },
  };
  const publicObject = (kind: Owner, more: object = {}) => ({
    _connection: { toImpl: () => implementations[kind] },
    _wrapApiCall: ignore,
    ...more,
  });
  const context = publicObject('context');
  const objects: Record<string, object> = {
    browser: publicObject('browser'),
    context,
    page: publicObject('page', { context: () => context }),
    session,
  };
  const kind = owner.replace('implementation of the ', '');
  const members = path.split('.');
  const last = members.pop() ?? '';
  let parent = (kind === owner ? objects : implementations)[kind] as Record<string, object>;
  for (const member of members) parent = parent[member] as Record<string, object>;
  Reflect.deleteProperty(parent, last);
  return objects as { readonly browser: never; readonly page: never };
}

test.each([
  ['browser', '_wrapApiCall'],
  ['browser', '_connection.toImpl'],
  ['browser', '_connection'],
  ['implementation of the browser', '_connection.rootSession.send'],
  ['implementation of the browser', '_connection.rootSession.prependListener'],
  ['implementation of the browser', '_connection.rootSession._sessionId'],
  ['implementation of the browser', '_connection.rootSession._connection'],
  ['implementation of the browser', '_connection._transport._pipeRead'],
  ['implementation of the browser', '_connection._transport._pipeWrite'],
  ['implementation of the browser', '_connection._transport._dispatch'],
  ['page', '_wrapApiCall'],
  ['implementation of the page', 'delegate._targetId'],
  ['implementation of the page', 'delegate._mainFrameSession._client.send'],
  ['implementation of the page', 'delegate'],
  ['context', '_connection.toImpl'],
  ['implementation of the context', '_browser'],
  ['implementation of the context', '_browserContextId'],
  ['implementation of the context', '_options'],
  ['implementation of the context', 'newCDPSession'],
  ['session', '_session.send'],
  ['session', '_session.detach'],
  ['session', '_session._eventListener'],
])('the check names the missing object of the %s: %s', async (owner, path) => {
  const { browser, page } = objectsWithout(owner, path);
  await expect(checkDriver(browser, page)).rejects.toMatchObject({
    name: 'UnsupportedPlaywrightError',
    message: expect.stringMatching(
      new RegExp(
        `^Playwright ${installed.version} is not supported, because its private object ${path}\\S* of the ${owner} is missing\\. .*${manifest.dependencies.playwright}`,
      ),
    ),
  });
});

test('the check accepts objects with all members', async () => {
  const { browser, page } = objectsWithout('browser', 'unused');
  await expect(checkDriver(browser, page)).resolves.toBeUndefined();
});
