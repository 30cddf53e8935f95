import { measurePage } from './in-page/measure-page.ts';
import type { OpenPage } from './open.ts';
import type { Settled } from './settle.ts';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';

const callMs = 3000;

/**
 * Stops the scripts of a page that keep it busy for ever: it can then be taken as it stands. These two commands are
 * among the few that reach a page between two steps of its loop.
 *
 * @throws DeadlineError when the page does not answer even so
 */
export async function interrupt(open: OpenPage, options: RenderOptions): Promise<Settled> {
  const { cdp, lifeline, world, metrics } = open;
  const stop = Promise.all([
    cdp.send('Emulation.setScriptExecutionDisabled', { value: true }),
    cdp.send('Runtime.terminateExecution'),
  ]);
  await lifeline.run(stop, callMs, 'stopping the scripts of the page');
  // Nothing that waits runs in such a page any more, not even of ours.
  const { height, left } = await world.call(measurePage, [], { ms: callMs, what: 'measuring' });
  if (options.isFullPage) await metrics.grow(height);
  return {
    images: { loaded: 0, failed: 0, pending: 0 },
    softTimeouts: ['settle'],
    whole: options.isFullPage ? { height, left, truncated: true } : undefined,
  };
}
