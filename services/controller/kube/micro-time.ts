/** The time now, or of some Unix milliseconds, as the API wants it where it counts microseconds. */
export function microTime(at: number = Date.now()): string {
  return new Date(at).toISOString().replace('Z', '000Z');
}
