import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { type ParsedSelector, parseSelector } from '@webcapture/shared/api/selector.ts';
import { callTimeoutMs } from './deadline.ts';
import { refusedSelector } from './miss.ts';
import type { OpenPage } from './open.ts';
import { adoptHiding, enforceHiding } from './scripts/hiding.ts';
import { selecting } from './scripts/selecting.ts';

type Unwanted = Pick<RenderOptions, 'hide' | 'remove'>;

/** Whether the request hides or removes elements. */
export const hidesElements = ({ hide = [], remove = [] }: Unwanted) => hide.length + remove.length > 0;

const parsed = ({ hide = [], remove = [] }: Unwanted): [hide: ParsedSelector[], remove: ParsedSelector[]] => [
  hide.map(parseSelector),
  remove.map(parseSelector),
];

/** Hides the elements of `hide` and `remove` in every document of the page from now on. */
export async function hideFirst({ world, deadline }: OpenPage, options: Unwanted): Promise<void> {
  if (!hidesElements(options)) return;
  await deadline.run(world.runFirst(adoptHiding, parsed(options), selecting), callTimeoutMs, 'hiding');
}

/**
 * Hides elements that are visible in spite of {@link hideFirst}, also in shadow roots that were attached later. Does not wait for the page.
 *
 * @throws ServiceError CAPTURE_FAILED that names a selector which the browser does not support
 */
export async function keepHidden({ world }: OpenPage, options: Unwanted): Promise<void> {
  if (!hidesElements(options)) return;
  const { hide = [], remove = [] } = options;
  const limit = { timeoutMs: callTimeoutMs, what: 'hiding' };
  await world.call(adoptHiding, parsed(options), limit, selecting);
  const refused = await world.call(enforceHiding, parsed(options), limit, selecting);
  if (refused === null) return;
  const name = refused < hide.length ? 'hide' : 'remove';
  throw refusedSelector(`${name} ${JSON.stringify([...hide, ...remove][refused])}`);
}
