/**
 * Whether an error of a request says that the browser did not find its proxy. When Chromium's network process dies, the
 * next one forgets the proxies of the contexts that are there: their pages reach nothing any more.
 */
export const hasLostProxy = (netError: string | undefined): boolean =>
  netError?.includes('ERR_PROXY_CONNECTION_FAILED') ?? false;
