import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';

/**
 * Options whose effect on a page ends with the session of its capture, or is undone by it. An option that does not stand here
 * keeps the page from being used again, and gets no page that was.
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

/** Whether a capture may have the page of an earlier one of its account, and leave it to the next one. */
export function mayReusePage({ options, secrets }: ReusableRequest): boolean {
  return (
    secrets === undefined &&
    !options.antiBot &&
    !Object.values(options.block).some(Boolean) &&
    options.failOn?.consoleErrors !== true &&
    Object.entries(options).every(([name, value]) => value === undefined || reusableOptions.has(name))
  );
}
