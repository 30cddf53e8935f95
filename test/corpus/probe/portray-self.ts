/// <reference lib="dom" />

/** The browser's description of itself, in pages and workers. */
export interface SelfPortrait {
  readonly userAgent: string;
  readonly platform: string;
  readonly languages: readonly string[];
  readonly hardwareConcurrency: number;
  readonly deviceMemory: number | undefined;
  readonly timeZone: string;
  readonly locale: string;
  readonly brands: readonly { readonly brand: string; readonly version: string }[];
  /** The result of `getHighEntropyValues`; undefined if this function does not exist. */
  readonly hints: Readonly<Record<string, unknown>> | undefined;
  readonly webgl: readonly unknown[];
}

/** Sent to pages and workers as source. */
export async function portraySelf(): Promise<SelfPortrait> {
  const { userAgentData, deviceMemory } = navigator as Navigator & {
    deviceMemory?: number;
    userAgentData?: {
      brands: { brand: string; version: string }[];
      getHighEntropyValues(hints: string[]): Promise<Record<string, unknown>>;
    };
  };
  const hints = ['architecture', 'bitness', 'fullVersionList', 'model', 'platform', 'platformVersion', 'wow64'];
  const gl = new OffscreenCanvas(1, 1).getContext('webgl');
  const names = gl?.getExtension('WEBGL_debug_renderer_info');
  const { timeZone, locale } = Intl.DateTimeFormat().resolvedOptions();
  return {
    userAgent: navigator.userAgent,
    platform: navigator.platform,
    languages: navigator.languages,
    hardwareConcurrency: navigator.hardwareConcurrency,
    deviceMemory,
    timeZone,
    locale,
    brands: userAgentData?.brands ?? [],
    hints: await userAgentData?.getHighEntropyValues(hints),
    webgl:
      gl && names
        ? [names.UNMASKED_VENDOR_WEBGL, names.UNMASKED_RENDERER_WEBGL].map((name) => gl.getParameter(name) as unknown)
        : [],
  };
}
