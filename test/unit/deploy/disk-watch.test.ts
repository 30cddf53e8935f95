import { describe, expect, test } from 'vitest';
import { DiskWatch } from '../../../deploy/local/disk-watch.ts';

const mebibyte = 1024 ** 2;
const failedWrite =
  "[7] 2026/11/26 11:48:04.780154 [ERR] JetStream failed to store a msg on stream '$G > A': write /d/1.blk: no space left on device";

function watch() {
  const notes: string[] = [];
  let restarts = 0;
  const disk = new DiskWatch({ folder: '/data', note: (line) => notes.push(line), restart: () => restarts++ });
  return { disk, notes, restarts: () => restarts };
}

describe('DiskWatch', () => {
  test('restarts a server whose write failed, once, and only when the disk has space again', () => {
    const { disk, restarts } = watch();
    disk.readLine(failedWrite);
    for (const mebibytes of [0, 1, 63]) disk.check(mebibytes * mebibyte);
    expect(restarts()).toBe(0);
    disk.check(64 * mebibyte);
    disk.check(2048 * mebibyte);
    expect(restarts()).toBe(1);
    disk.readLine(failedWrite.replace('no space left on device', 'disk quota exceeded'));
    disk.check(64 * mebibyte);
    expect(restarts()).toBe(2);
  });

  test('never restarts a server whose writes succeed, independent of its log and of the disk', () => {
    const { disk, restarts } = watch();
    disk.readLine('[7] 2026/11/26 11:48:04.780154 [INF] no space left on device');
    disk.readLine("[7] 2026/11/26 11:48:04.780154 [ERR] JetStream failed to store a msg on stream '$G > A': too large");
    for (const mebibytes of [0, 100, 5000]) disk.check(mebibytes * mebibyte);
    expect(restarts()).toBe(0);
  });

  test('warns once each time the disk has less than 1 GiB left', () => {
    const { disk, notes } = watch();
    disk.check(1024 * mebibyte);
    expect(notes).toEqual([]);
    disk.check(1023 * mebibyte);
    disk.check(12.5 * mebibyte);
    expect(notes).toEqual([
      'the disk of /data has 1023 MiB left: when it is full, nothing can be captured; free some space',
    ]);
    disk.check(2000 * mebibyte);
    disk.check(12.5 * mebibyte);
    expect(notes[1]).toContain('has 12 MiB left');
  });
});
