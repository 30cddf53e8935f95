import type { Page } from 'playwright-core';

/**
 * Answers no to every site that asks for a name and a password. The full browser would show a prompt and hold the answer
 * back until somebody fills it in; the page is then what comes with the refusal, as in the headless shell.
 */
export async function refuseLogins(page: Page): Promise<void> {
  // A session of its own: what captures do with theirs does not end it.
  const session = await page.context().newCDPSession(page);
  // Rejections: the page or the request went away meanwhile.
  session.on('Fetch.requestPaused', ({ requestId }) => {
    session.send('Fetch.continueRequest', { requestId }).catch(() => undefined);
  });
  session.on('Fetch.authRequired', ({ requestId }) => {
    const authChallengeResponse = { response: 'CancelAuth' } as const;
    session.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => undefined);
  });
  await session.send('Fetch.enable', { handleAuthRequests: true });
}
