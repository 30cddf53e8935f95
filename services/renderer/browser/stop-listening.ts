import type { Page } from 'playwright-core';

/** What this reads of Playwright's own objects, which are not part of its public interface. */
interface Internals {
  readonly _connection?: {
    toImpl?(page: Page): {
      readonly delegate?: {
        readonly _mainFrameSession?: { readonly _client?: { send(method: 'Runtime.disable'): Promise<unknown> } };
      };
    };
  };
}

/**
 * Ends Playwright's listening to the page's console and scripts: with somebody listening, what a page logs is read at
 * once, which it can tell by an error that is formatted. Captures need none of it.
 *
 * Does nothing where Playwright is not built as it is now; a test holds this against the installed one.
 */
export async function stopListening(page: Page): Promise<void> {
  const impl = (page as unknown as Internals)._connection?.toImpl?.(page);
  await impl?.delegate?._mainFrameSession?._client?.send('Runtime.disable');
}
