import { setImmediate as nextTurn } from 'node:timers/promises';

/** Bytes that are looked at one by one before others have their turn: about a millisecond. */
const chunkBytes = 1024 * 1024;

/** Whether no two bytes at the same place differ by more than 1. Lets the event loop turn in between. */
export async function isAlmostEqual(a: Buffer, b: Buffer): Promise<boolean> {
  if (a.length !== b.length) return false;
  for (let start = 0; start < a.length; start += chunkBytes) {
    const [left, right] = [a.subarray(start, start + chunkBytes), b.subarray(start, start + chunkBytes)];
    if (left.equals(right)) continue;
    if (!isClose(left, right)) return false;
    await nextTurn();
  }
  return true;
}

function isClose(a: Buffer, b: Buffer): boolean {
  for (let index = 0; index < a.length; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference > 1 || difference < -1) return false;
  }
  return true;
}
