/**
 * Frees the memory of bytes that are no longer used, at once. V8 counts it as old generation until the next collection, and a few files of
 * 5 MB cause a collection of the whole heap, which takes longer than all work on such a file (docs/adr/0011). All views of the memory are
 * empty afterwards.
 */
export function freeMemory({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}
