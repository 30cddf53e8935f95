import type { OpenPage } from './open.ts';

const stopMs = 3000;

/**
 * Ends the scripts of a page, for good, and its loading: one that was busy, or waited for what does not come, can then be
 * drawn as it stands. These commands are among the few that reach a page between two steps of its loop.
 *
 * @throws DeadlineError when the page does not answer even so
 */
export async function stopPage({ cdp, lifeline }: OpenPage): Promise<void> {
  const stopped = Promise.all([
    cdp.send('Emulation.setScriptExecutionDisabled', { value: true }),
    cdp.send('Runtime.terminateExecution'),
    cdp.send('Page.stopLoading'),
  ]);
  await lifeline.run(stopped, stopMs, 'stopping the page');
}
