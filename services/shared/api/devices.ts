import { deviceRows, userAgents } from './device-list.ts';

/** What a page is seen with when a request names a device. */
export interface Device {
  readonly name: string;
  readonly viewport: { readonly width: number; readonly height: number; readonly deviceScaleFactor: number };
  /** CSS pixels. */
  readonly screen: { readonly width: number; readonly height: number };
  /** It is touched, and lays pages out as their viewport meta tag says. */
  readonly isMobile: boolean;
  readonly userAgent: string;
}

/** That of the request's schema. */
const maxScale = 3;

/** By name, in the order of Playwright's list. */
export const devices: ReadonlyMap<string, Device> = new Map(
  deviceRows.map(([name, width, height, screenWidth, screenHeight, scale, isMobile, userAgent]) => [
    name,
    {
      name,
      viewport: { width, height, deviceScaleFactor: Math.min(scale, maxScale) },
      screen: { width: screenWidth, height: screenHeight },
      isMobile,
      userAgent: userAgents[userAgent] ?? '',
    },
  ]),
);
