import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';

/**
 * Options whose effect on a page ends, or is undone, with the session of its capture. With any other option, a capture neither reuses a
 * page nor leaves its page for reuse.
 */
const reusableOptions: ReadonlySet<string> = new Set<keyof RenderOptions>([
  'antiBot',
  'block',
  'clip',
  'colorScheme',
  'delay',
  'elementPadding',
  'extract',
  'failOn',
  'format',
  'hide',
  'imageTimeout',
  'isFullPage',
  'media',
  'omitBackground',
  'pdf',
  'quality',
  'reducedMotion',
  'remove',
  'resize',
  'selector',
  'timeout',
  'viewport',
  'waitFor',
  'waitUntil',
]);

export interface ReusableRequest {
  readonly options: RenderOptions;
  readonly secrets?: CaptureSecrets;
}

/** Whether a capture may reuse the page of an earlier capture of its account, and leave its page to the next one. */
export function mayReusePage({ options, secrets }: ReusableRequest): boolean {
  return (
    secrets === undefined &&
    !options.antiBot &&
    !Object.values(options.block).some(Boolean) &&
    options.failOn?.consoleErrors !== true &&
    Object.entries(options).every(([name, value]) => value === undefined || reusableOptions.has(name))
  );
}
