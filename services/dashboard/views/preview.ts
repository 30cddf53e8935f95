import { client } from '../shell/session.ts';

/** A browser needs four bytes for each pixel of a picture: of larger ones it is shown the preview. */
export const maxShownPixels = 40_000_000;

/** What the service shows of a capture, in any size of it; of a tall page, the top. */
export interface Preview {
  readonly blob: Blob;
  readonly width: number;
  readonly height: number;
}

/** @returns null when there is none */
export async function loadPreview(uuid: string, signal: AbortSignal): Promise<Preview | null> {
  const blob = await client().getThumbnail(uuid, { width: 1568, signal });
  if (blob === null) return null;
  const bitmap = await createImageBitmap(blob);
  const { width, height } = bitmap;
  bitmap.close();
  return { blob, width, height };
}
