import type { Capture } from '@webcapture/client';
import { expect, test } from 'vitest';
import type { CapturePage } from '../../../services/dashboard/pages/captures/capture-list.ts';
import { CaptureStore } from '../../../services/dashboard/pages/captures/capture-store.ts';

interface Reading extends PromiseWithResolvers<CapturePage> {
  readonly signal: AbortSignal;
}

/** A store whose pages arrive when the test resolves them. */
function storeOf(): { store: CaptureStore; readings: Reading[] } {
  const readings: Reading[] = [];
  const page = (_: string | undefined, signal: AbortSignal) => {
    const reading = { ...Promise.withResolvers<CapturePage>(), signal };
    readings.push(reading);
    return reading.promise;
  };
  const one = () => Promise.reject(new Error('unexpected request for one capture'));
  return { store: new CaptureStore({ page, one }, undefined), readings };
}

const pageOf = (...uuids: string[]): CapturePage => ({
  items: uuids.map((uuid) => ({ uuid, status: 'queued' }) as Capture),
  nextCursor: null,
});
const uuids = (store: CaptureStore) => store.list.value.items.map(({ uuid }) => uuid);

test('when two requests for the newest captures overlap, the result of the later one is shown', async () => {
  const { store, readings } = storeOf();
  const [first, second] = [store.loadNewest(), store.loadNewest()];
  expect(readings.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  readings[0]?.reject(new Error('it was cut'));
  await first;
  expect([store.isLoading.value, store.problem.value]).toEqual([true, undefined]);
  readings[1]?.resolve(pageOf('b', 'a'));
  await second;
  expect(uuids(store)).toEqual(['b', 'a']);
  expect(store.isLoading.value).toBe(false);

  const [third, fourth] = [store.loadNewest(), store.loadNewest()];
  readings[3]?.resolve(pageOf('c'));
  await fourth;
  readings[2]?.resolve(pageOf('a'));
  await third;
  expect(uuids(store)).toEqual(['c']);
});

test('a failure after the store was stopped is ignored, and the store can be started again', async () => {
  const { store, readings } = storeOf();
  const loading = store.loadNewest();
  store.stop();
  expect([readings[0]?.signal.aborted, store.isLoading.value]).toEqual([true, false]);
  readings[0]?.reject(new Error('it was cut'));
  await loading;
  expect([store.problem.value, store.retryAt.value]).toEqual([undefined, undefined]);

  const again = store.loadNewest();
  readings[1]?.resolve(pageOf('one'));
  await again;
  expect(uuids(store)).toEqual(['one']);
});
