/** Saves what is in memory as a file: the attribute `download` of a link to another origin is ignored. */
export function download(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // A browser that asks where to save it reads it only then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
