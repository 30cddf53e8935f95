import { BrowserLostError } from './browser-lost-error.ts';
import type { LaunchedBrowser } from './launch.ts';
import type { MemoryGuard } from './memory-guard.ts';
import type { PageLoan } from './page-loan.ts';
import { closeWarmPage, openWarmPage, type PageEgress, type PageSetup } from './warm-page.ts';

/**
 * A page in a browser of its own, which ends with it: for a capture that may have brought down a shared one.
 *
 * @throws BrowserLostError when the browser does not start or opens no page
 */
export async function openOwnBrowser(
  launch: () => Promise<LaunchedBrowser>,
  options: { readonly egress: PageEgress; readonly guard: MemoryGuard; readonly setup?: PageSetup },
): Promise<PageLoan> {
  const { egress, guard, setup } = options;
  let launched: LaunchedBrowser | undefined;
  try {
    const { browser, pid, close } = (launched = await launch());
    const page = await openWarmPage(launched, egress, setup);
    const unwatch = guard.watch({ pid, busy: () => true });
    return {
      ...page,
      browserLost: () => !browser.isConnected(),
      release: async () => {
        unwatch();
        await closeWarmPage(page);
        await close();
      },
    };
  } catch (error) {
    await launched?.close();
    throw new BrowserLostError('a browser of its own opened no page', { cause: error });
  }
}
