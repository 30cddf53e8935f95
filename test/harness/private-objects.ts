/**
 * Gives stand-ins of a page and its context the private objects of Playwright that the renderer uses.
 *
 * @param attach opens a CDP session with the page
 */
export function addPrivateObjects(page: object, context: object, attach: () => Promise<object>): void {
  const session = { send: async () => ({}), on: () => undefined, off: () => undefined };
  const ofPage = { delegate: { _targetId: 'main', _mainFrameSession: { _client: session } } };
  const rootSession = { ...session, prependListener: () => undefined };
  const ofContext = {
    _browser: { _connection: { rootSession } },
    _browserContextId: 'context',
    _options: {},
    newCDPSession: async () => ({ _session: Object.assign(await attach(), { _eventListener: () => undefined }) }),
  };
  const _connection = { toImpl: (object: object) => (object === page ? ofPage : ofContext) };
  const _wrapApiCall = (call: () => Promise<unknown>) => call();
  Object.assign(page, { _connection, _wrapApiCall });
  Object.assign(context, { _connection, _wrapApiCall, once: () => undefined, off: () => undefined });
}
