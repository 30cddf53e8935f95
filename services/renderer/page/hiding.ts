import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { OpenPage } from './open.ts';
import { adoptHiding, enforceHiding } from './scripts/hiding.ts';
import { refusedSelector } from './wait-for.ts';

const callTimeoutMs = 5000;

type Unwanted = Pick<RenderOptions, 'hide' | 'remove'>;

const isAsked = ({ hide = [], remove = [] }: Unwanted) => hide.length + remove.length > 0;

/** Hides what the capture does not want, in every document of the page from now on. */
export async function hideFirst({ world, deadline }: OpenPage, options: Unwanted): Promise<void> {
  if (!isAsked(options)) return;
  const { hide = [], remove = [] } = options;
  await deadline.run(world.runFirst(adoptHiding, hide, remove), callTimeoutMs, 'hiding');
}

/**
 * Hides it once more where the page shows it all the same. Waits for nothing in the page.
 *
 * @throws ServiceError CAPTURE_FAILED that names a selector which the browser does not know
 */
export async function keepHidden({ world }: OpenPage, options: Unwanted): Promise<void> {
  if (!isAsked(options)) return;
  const { hide = [], remove = [] } = options;
  const limit = { timeoutMs: callTimeoutMs, what: 'hiding' };
  await world.call(adoptHiding, [hide, remove], limit);
  const refused = await world.call(enforceHiding, [hide, remove], limit);
  if (refused === null) return;
  throw refusedSelector(`${hide.includes(refused) ? 'hide' : 'remove'} ${JSON.stringify(refused)}`);
}
