import type { CaptureRequest } from './capture-request.ts';

/** Related options of POST /capture under a heading. */
interface OptionGroup {
  readonly title: string;
  readonly options: readonly (keyof CaptureRequest)[];
}

/**
 * The groups in the form of the dashboard and in the help of the command line, in order. Each option of the schema is in exactly one
 * group, except {@link ungroupedOptions}.
 */
export const optionGroups = [
  {
    title: 'Image and file',
    options: ['format', 'quality', 'isFullPage', 'selector', 'elementPadding', 'clip', 'resize', 'omitBackground'],
  },
  { title: 'Window and device', options: ['viewport', 'device', 'colorScheme', 'media', 'reducedMotion'] },
  { title: 'PDF', options: ['pdf'] },
  { title: 'Waiting', options: ['waitUntil', 'timeout', 'imageTimeout', 'delay', 'waitFor'] },
  { title: 'Page', options: ['block', 'hide', 'remove', 'click', 'javaScript', 'css', 'script', 'extract'] },
  {
    title: 'Visitor',
    options: ['region', 'antiBot', 'locale', 'timezone', 'geolocation', 'userAgent', 'ignoreTlsErrors'],
  },
  { title: 'Credentials', options: ['headers', 'headersFor', 'cookies', 'auth'] },
  { title: 'Cache and storage', options: ['responseCache', 'cdnTtl', 'persistence'] },
  { title: 'Delivery', options: ['background', 'webhook', 'failOn', 'diagnostics'] },
] as const satisfies readonly OptionGroup[];

/** Options that determine the source, the output and the form of the response. They are in no group. */
export const ungroupedOptions = ['url', 'html', 'responseType'] as const satisfies readonly (keyof CaptureRequest)[];
