import type { RenderOptions } from '../contract/render-options.ts';

/** Rendering a background capture, or a refresh, must have begun within so long: 24 hours. */
export const backgroundWaitMs = 86_400_000;

/** Beyond the waits that the request allows: shooting a long page, storing it, and a second try after a death. */
const marginMs = 60_000;

/** When a capture that may be begun until `startBy` must have ended; Unix milliseconds. */
export function deadlineOf(options: RenderOptions, startBy: number): number {
  return startBy + options.timeout + options.imageTimeout + options.delay + marginMs;
}
