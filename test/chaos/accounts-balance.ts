import { expect } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { Fleet } from '../harness/fleet.ts';
import { until } from '../harness/until.ts';

/**
 * Checks what must hold after any crash: no capture or refresh is open, the usage equals the cost of the completed ones without
 * reservations, each completed capture has its whole file, and the queues are empty. Prints the usage and returns the records of all
 * captures.
 */
export async function expectBalance({ usageCheck, api }: Fleet): Promise<CaptureRecord[]> {
  const isOpen = ({ status, refresh }: CaptureRecord) =>
    ['queued', 'rendering'].includes(status) ||
    (status === 'completed' && ['queued', 'rendering'].includes(refresh?.state ?? ''));
  await until(
    'every capture to have ended and the queues to be empty',
    async () =>
      (await usageCheck.queued()) === 0 &&
      (await usageCheck.unsettled()) === 0 &&
      !(await usageCheck.records()).some(isOpen),
    { intervalMs: 200 },
  );
  const records = await usageCheck.records();
  const charged = records.flatMap(({ outcome, tokenCost, refreshCharges = {} }) => [
    ...(outcome === undefined ? [] : [{ tokens: tokenCost, captures: 1 }]),
    ...Object.values(refreshCharges),
  ]);
  const sum = (field: 'tokens' | 'captures') => charged.reduce((total, charge) => total + charge[field], 0);
  const usage = await usageCheck.usage();
  const states = [...Map.groupBy(records, ({ status }) => status)].map(([status, { length }]) => `${length} ${status}`);
  process.stdout.write(
    `accounting: ${states.join(', ')}; they cost ${sum('tokens')} tokens, the usage is ${usage.tokens}, ` +
      `${usage.reserved} reserved, ${usage.queued} queued\n`,
  );
  expect(usage).toEqual({ tokens: sum('tokens'), captures: sum('captures'), reserved: 0, queued: 0 });
  for (const { fileName, outcome } of records.filter(({ status }) => status === 'completed')) {
    const response = await api.request(`/files/${fileName}`);
    expect([fileName, response.status]).toEqual([fileName, 200]);
    expect((await response.arrayBuffer()).byteLength).toBe(outcome?.fileSizeBytes);
  }
  return records;
}
