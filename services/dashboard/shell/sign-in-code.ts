import { keepSecret, serviceUrl, signInMessages } from './session.ts';

// The call runs when this module is imported, which is before the routes. Other modules therefore never see the code in the address.
takeCode();
addEventListener('hashchange', takeCode);

/** The code of a link that `npm start` prints, `#code=…`. It is removed from the address and exchanged for the key. */
function takeCode(): void {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  history.replaceState(null, '', location.pathname);
  void redeem(code);
}

async function redeem(code: string): Promise<void> {
  try {
    const response = await fetch(`${serviceUrl}/dashboard/sign-in-code`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    });
    const answer = (await response.json()) as { data: { key: string } | null; error: { message: string } | null };
    if (answer.data !== null) keepSecret('key', answer.data.key);
    // A front without a code has no such endpoint.
    else
      signInMessages.key.value =
        response.status === 401
          ? (answer.error?.message ?? null)
          : 'This service has no sign-in links. Sign in with an API key.';
  } catch {
    signInMessages.key.value = 'The service does not respond. Open the link again, or sign in with the API key.';
  }
}
