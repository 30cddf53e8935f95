import { type Static, Type } from 'typebox';
import type { Device } from './devices.ts';
import { optionSchemas, type PageOptionName } from './option-table.ts';
import type { PdfOptions } from './pdf-options.ts';
import type { SecretNames } from './secret-options.ts';
import type { PublicStep } from './steps.ts';

/** Maximum number of pixels of a viewport, including the scale factor. */
export const maxViewportPixels = 150_000_000;

/** The body of `POST /capture`. */
export const captureRequestSchema = Type.Object(optionSchemas, { additionalProperties: false });

/** A validated request body with all defaults. */
export type CaptureRequest = Static<typeof captureRequestSchema>;

/** Returns the tokens that a capture costs when it completes. */
export function tokenCost(request: Pick<CaptureRequest, 'antiBot'>): number {
  return request.antiBot ? 2 : 1;
}

/**
 * All options that affect the pixels of a capture, after validation, defaults and normalization. The renderer receives them, and they
 * determine the name of the cache entry.
 */
export type RenderOptions = Readonly<Pick<CaptureRequest, Exclude<PageOptionName, 'pdf' | 'steps'>>> & {
  readonly pdf: PdfOptions;
  /** The steps, without the values that they enter. These values are secrets of the capture. */
  readonly steps?: readonly PublicStep[];
  /** Whether the device of the request has a touch screen and applies the viewport meta tag. */
  readonly isMobile?: true;
  /** The screen of the device of the request, in CSS pixels. */
  readonly screen?: Device['screen'];
  /** Names of the secrets of the capture; the options never contain their values. */
  readonly secrets?: SecretNames;
};
