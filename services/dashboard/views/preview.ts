import { client } from '../shell/session.ts';

/** Maximum number of pixels that are shown without a preview, because a browser needs four bytes for each pixel. */
export const maxShownPixels = 40_000_000;

/** Fetches a preview of a capture in a given size. The preview of a tall page shows only its top. */
export interface Preview {
  readonly blob: Blob;
  readonly width: number;
  readonly height: number;
}

/** @returns null if there is no preview */
export async function loadPreview(uuid: string, signal: AbortSignal): Promise<Preview | null> {
  const blob = await client().getThumbnail(uuid, { width: 1568, signal });
  if (blob === null) return null;
  const bitmap = await createImageBitmap(blob);
  const { width, height } = bitmap;
  bitmap.close();
  return { blob, width, height };
}
