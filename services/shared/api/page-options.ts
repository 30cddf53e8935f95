import { Type } from 'typebox';
import { oneOf } from './one-of.ts';

/**
 * Options of `POST /capture` that change the page, what is waited for, or the picture, and change nothing where they are absent. None
 * has a default, so that requests without them keep the name of their cache entry.
 *
 * Validation, types, OpenAPI, job and cache key follow from this list. What an option does is a step of the renderer.
 */
export const pageOptions = {
  media: Type.Optional(
    oneOf(['screen', 'print'], {
      description: 'Media type of the style sheets that apply. Without it: screen for images, print for PDF.',
    }),
  ),
  reducedMotion: Type.Optional(
    Type.Boolean({ description: 'Value of the media feature prefers-reduced-motion: reduce if true.' }),
  ),
} as const;
