import type { CapturedFile } from '@webcapture/client';

/** Receives a file, and saves it. */
export async function downloadFile({ stream, contentType }: CapturedFile, name: string): Promise<void> {
  download(await new Response(stream, { headers: { 'content-type': contentType } }).blob(), name);
}

/**
 * Saves a blob as a file. A link would not be sufficient, because browsers ignore its `download` attribute if it leads to another origin.
 */
export function download(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // If the browser asks the user for the folder, it reads the blob only after that.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
