import type { CapturedFile } from '@webcapture/client';

/** Receives a file, and saves it. */
export async function downloadFile({ stream, contentType }: CapturedFile, name: string): Promise<void> {
  download(await new Response(stream, { headers: { 'content-type': contentType } }).blob(), name);
}

/** Saves a blob as a file: browsers ignore the `download` attribute of links to another origin. */
export function download(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // A browser that asks for the folder reads the blob only afterwards.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
