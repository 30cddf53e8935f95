import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type { FileStore, NewFile } from '@webcapture/shared/files/file-store.ts';
import { percentilesOf, type Percentiles } from '../http-load.ts';

export const steps = ['create', 'stat', 'read'] as const;

type Step = (typeof steps)[number];

/** Milliseconds of each step, by store. */
export type StoreTimes = ReadonlyMap<string, Readonly<Record<Step, Percentiles>>>;

/** Creates, looks up, reads and removes files of one size. The stores alternate, so that other load on the machine affects all of them. */
export async function measureStores(
  stores: Readonly<Record<string, FileStore>>,
  { bytes, rounds }: { readonly bytes: number; readonly rounds: number },
): Promise<StoreTimes> {
  const times = new Map(Object.keys(stores).map((name) => [name, { create: [], stat: [], read: [] } as StepTimes]));
  // The first calls are slower.
  for (const store of Object.values(stores)) await useFile(store, bytes);
  for (let round = 0; round < rounds; round++) {
    for (const [name, store] of Object.entries(stores)) {
      const taken = await useFile(store, bytes);
      for (const step of steps) times.get(name)?.[step].push(taken[step]);
    }
  }
  return new Map(
    [...times].map(([name, { create, stat, read }]) => [
      name,
      { create: percentilesOf(create), stat: percentilesOf(stat), read: percentilesOf(read) },
    ]),
  );
}

type StepTimes = Record<Step, number[]>;

async function useFile(store: FileStore, size: number): Promise<Record<Step, number>> {
  const file: NewFile = {
    object: newFileName(randomUUIDv7(), 'png'),
    region: 'us-east',
    account: 'bench',
    bytes: randomBytes(size),
    contentType: 'image/png',
    expiresAt: Date.now() + 600_000,
    width: 1,
    height: 1,
  };
  const start = performance.now();
  await store.create(file);
  const created = performance.now();
  const found = await store.stat(file.object);
  const known = performance.now();
  if (found === null) throw new Error('the file does not exist');
  let read = 0;
  for await (const part of store.read(found)) read += part.length;
  const end = performance.now();
  if (read !== size) throw new Error(`${read} of ${size} bytes were read`);
  await store.remove(file.object);
  return { create: created - start, stat: known - created, read: end - known };
}
