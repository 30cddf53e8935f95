import { expect } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Fleet } from '../harness/fleet.ts';
import { until } from '../harness/until.ts';

/**
 * What must hold after any crash: no capture is left open, the usage is the sum of what the completed ones cost, each
 * completed one has its file, whole, and nothing waits in the queue. Returns the records of all captures.
 */
export async function expectBalance({ books, api }: Fleet): Promise<CaptureRecord[]> {
  await until(
    'every capture to have ended and the queue to be empty',
    async () => {
      const open = (await books.records()).filter(({ status }) => status === 'queued' || status === 'rendering');
      return open.length === 0 && (await books.queued()) === 0;
    },
    { deadlineMs: 60_000, intervalMs: 200 },
  );
  const records = await books.records();
  const completed = records.filter(({ status }) => status === 'completed');
  expect(await books.usage()).toEqual({
    tokens: completed.reduce((sum, { tokenCost }) => sum + tokenCost, 0),
    captures: completed.length,
  });
  for (const { fileName, outcome } of completed) {
    const response = await api.request(`/files/${fileName}`);
    expect([fileName, response.status]).toEqual([fileName, 200]);
    expect((await response.arrayBuffer()).byteLength).toBe(outcome?.fileSizeBytes);
  }
  return records;
}
