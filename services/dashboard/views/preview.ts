import { client } from '../shell/session.ts';

/** A browser needs four bytes for each pixel, so larger pictures are shown as a preview. */
export const maxShownPixels = 40_000_000;

/** Fetches a preview of a capture in a given size; of a tall page, only the top. */
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
