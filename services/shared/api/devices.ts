import { deviceRows, userAgents } from './device-list.ts';

/** Properties of an emulated device. */
export interface Device {
  readonly name: string;
  readonly viewport: { readonly width: number; readonly height: number; readonly deviceScaleFactor: number };
  /** CSS pixels. */
  readonly screen: { readonly width: number; readonly height: number };
  /** Whether it has a touch screen and applies the viewport meta tag. */
  readonly isMobile: boolean;
  readonly userAgent: string;
}

/** Maximum device scale factor that the schema of requests allows. */
const maxScale = 3;

/** Devices by name, in the order of Playwright's list. */
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
