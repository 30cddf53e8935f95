import { randomUUIDv7 } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { newFileName } from '@webcapture/shared/storage/file-name.ts';
import type {
  ByteRange,
  CallLimits,
  FileStore,
  ListedFile,
  NewFile,
  StoredFile,
} from '@webcapture/shared/storage/file-store.ts';
import { FileReplacedError } from '@webcapture/shared/storage/file-replaced-error.ts';
import { newFile } from '../../../harness/records.ts';
import { until } from '../../../harness/until.ts';

const part = 256 * 1024;

/** Another picture for the same name. */
export const another = (file: NewFile, size = part) => newFile(size, { name: file.name });

export async function bytesOf(
  store: FileStore,
  file: StoredFile,
  range?: ByteRange,
  limits?: CallLimits,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.read(file, range, limits)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A stored file, and what is to take its place. */
export async function pair(store: FileStore, oldSize = 2 * part, newSize = 3 * part + 5) {
  const old = newFile(oldSize);
  const next = newFile(newSize, { name: old.name, height: 5, cacheSeconds: 300 });
  return { old, stored: await store.create(old), next };
}

/** What every store of files promises, whatever it is made of. `on`: the store; called inside of tests. */
export function storeSuite(on: () => FileStore): void {
  const read = (file: StoredFile, range?: ByteRange) => bytesOf(on(), file, range);
  const stat = async (name: string) => {
    const found = await on().stat(name);
    if (found === null) throw new Error(`there is no ${name}`);
    return found;
  };

  describe('a file', () => {
    test.concurrent.each([1, part - 1, part, part + 1, 3 * part, 20 * part + 7, 40 * part])(
      'of %i bytes comes back',
      async (size) => {
        const file = newFile(size);
        const stored = await on().create(file);
        expect(stored).toMatchObject({ name: file.name, size, contentType: 'image/png', width: 3, height: 4 });
        expect(stored.expiresAt).toBe(file.expiresAt);
        expect(Math.abs(stored.storedAt - Date.now())).toBeLessThan(10_000);
        expect(await on().stat(file.name)).toEqual(stored);
        expect((await read(stored)).equals(file.bytes)).toBe(true);
      },
    );

    test.concurrent.each([
      [0, 0],
      [10, 20],
      [part - 1, part],
      [part, 2 * part - 1],
      [5, 3 * part + 1],
      [0, 4 * part - 1],
    ])('is read from byte %i to %i', async (start, end) => {
      const file = newFile(4 * part);
      const stored = await on().create(file);
      expect((await read(stored, { start, end })).equals(file.bytes.subarray(start, end + 1))).toBe(true);
    });

    test.concurrent('stands against a second one of its name', async () => {
      const first = newFile(2 * part);
      const stored = await on().create(first);
      const again = await on().create(another(first, 3 * part));
      expect(again).toEqual(stored);
      expect((await read(again)).equals(first.bytes)).toBe(true);
    });

    test.concurrent('has the tag of its bytes', async () => {
      const { bytes } = newFile(100);
      const files = [newFile(100, { bytes }), newFile(100, { bytes }), newFile(100)];
      const [a, b, c] = await Promise.all(files.map((file) => on().create(file)));
      expect(a?.etag).toBe(b?.etag);
      expect(a?.etag).not.toBe(c?.etag);
    });

    test.concurrent('is gone once it is removed, and can be removed again', async () => {
      const file = newFile(2 * part);
      const stored = await on().create(file);
      await on().remove(file.name);
      expect(await on().stat(file.name)).toBeNull();
      await expect(read(stored)).rejects.toBeInstanceOf(FileReplacedError);
      await on().remove(file.name);
    });

    test.concurrent('is gone when its time is over, and its name is free', async () => {
      const file = newFile(10, { expiresAt: Date.now() + 1000 });
      await on().create(file);
      await until('the file to be gone', async () => (await on().stat(file.name)) === null);
      // The server of the embedded store removes what has expired each second.
      const next = another(file, 20);
      await until('the name to be free', async () => (await on().create(next)).size === 20);
      expect((await read(await stat(file.name))).equals(next.bytes)).toBe(true);
    });

    test.concurrent('that nobody stored is not there', async () => {
      expect(await on().stat(newFileName(randomUUIDv7(), 'webp'))).toBeNull();
    });
  });

  describe('a file that is replaced', () => {
    test.concurrent('is the new one, whole, with its own description', async () => {
      const { old, stored, next } = await pair(on());
      const replaced = await on().replace(next, stored);
      expect(replaced).toMatchObject({ name: old.name, size: next.bytes.length, height: 5, cacheSeconds: 300 });
      expect(replaced?.etag).not.toBe(stored.etag);
      const found = await stat(old.name);
      expect(found).toEqual(replaced);
      expect((await read(found)).equals(next.bytes)).toBe(true);
    });

    test.concurrent('keeps its tag with its bytes', async () => {
      const { old, stored } = await pair(on());
      const replaced = await on().replace({ ...old, expiresAt: old.expiresAt + 60_000 }, stored);
      expect(replaced).toMatchObject({ etag: stored.etag, expiresAt: old.expiresAt + 60_000 });
    });

    test.concurrent('is read to its end by whoever has begun', async () => {
      const { old, stored, next } = await pair(on(), 20 * part);
      const reading = on().read(stored)[Symbol.asyncIterator]();
      const chunks = [(await reading.next()).value as Uint8Array];
      await on().replace(next, stored);
      for (let step = await reading.next(); step.done !== true; step = await reading.next()) chunks.push(step.value);
      expect(Buffer.concat(chunks).equals(old.bytes)).toBe(true);
    });

    test.concurrent('is read as it was, or not at all, by whoever only knew of it', async () => {
      const { old, stored, next } = await pair(on());
      await on().replace(next, stored);
      const bytes = await read(stored).catch((error: unknown) => error);
      if (Buffer.isBuffer(bytes)) expect(bytes.equals(old.bytes)).toBe(true);
      else expect(bytes).toBeInstanceOf(FileReplacedError);
    });

    test.concurrent('shows readers one file or the other at every moment', async () => {
      const { old, stored } = await pair(on(), 3 * part);
      const known = new Map([[stored.etag, old.bytes]]);
      const seen: [string, Buffer][] = [];
      let done = false;
      const keepReading = async () => {
        let times = 0;
        for (; !done; times++) {
          const found = await stat(old.name);
          const bytes = await read(found).catch((error: unknown) => error);
          if (Buffer.isBuffer(bytes)) seen.push([found.etag, bytes]);
          else expect(bytes).toBeInstanceOf(FileReplacedError);
        }
        return times;
      };
      const readers = [keepReading(), keepReading()];
      let current = stored;
      const tags = () => new Set(seen.map(([etag]) => etag)).size;
      for (let turn = 0; turn < 15 || (tags() < 2 && turn < 300); turn++) {
        const next = another(old, 2 * part + turn);
        current = (await on().replace(next, current)) as StoredFile;
        known.set(current.etag, next.bytes);
      }
      done = true;
      expect((await Promise.all(readers)).every((times) => times > 0)).toBe(true);
      expect(seen.every(([etag, bytes]) => known.get(etag)?.equals(bytes))).toBe(true);
      expect(tags()).toBeGreaterThan(1);
    });

    test.concurrent('goes when the time of the new one is over', async () => {
      const { old, stored, next } = await pair(on());
      await on().replace({ ...next, expiresAt: Date.now() + 1000 }, stored);
      await until('the file to be gone', async () => (await on().stat(old.name)) === null);
    });

    test.concurrent('is replaced by one of many at once', async () => {
      const { old, stored } = await pair(on());
      const files = Array.from({ length: 8 }, () => another(old));
      const results = await Promise.all(files.map((file) => on().replace(file, stored)));
      const winners = results.filter((result) => result !== null);
      expect(winners).toHaveLength(1);
      expect(await on().stat(old.name)).toEqual(winners[0]);
    });
  });

  describe('nothing is written, and the caller is told, when the file', () => {
    test.concurrent('was replaced meanwhile', async () => {
      const { old, stored, next } = await pair(on());
      const first = await on().replace(next, stored);
      expect(await on().replace(another(old), stored)).toBeNull();
      expect(await on().stat(old.name)).toEqual(first);
    });

    test.concurrent('was removed', async () => {
      const { old, stored, next } = await pair(on());
      await on().remove(old.name);
      expect(await on().replace(next, stored)).toBeNull();
      expect(await on().stat(old.name)).toBeNull();
    });

    test.concurrent('has expired', async () => {
      const brief = newFile(10, { expiresAt: Date.now() + 300 });
      const stored = await on().create(brief);
      await new Promise((resolve) => setTimeout(resolve, 310));
      expect(await on().replace(another(brief), stored)).toBeNull();
      expect(await on().stat(brief.name)).toBeNull();
    });

    test.concurrent('was removed and is another of the same bytes', async () => {
      const { old, stored, next } = await pair(on());
      await on().remove(old.name);
      const again = await on().create(old);
      expect(await on().replace(next, stored)).toBeNull();
      expect(await on().stat(old.name)).toEqual(again);
    });
  });

  test.concurrent('a call whose deadline is over fails', async () => {
    const stored = await on().create(newFile(10));
    const limits = { deadline: Date.now() - 1 };
    const reading = on().read(stored, undefined, limits)[Symbol.asyncIterator]();
    for (const call of [on().stat(stored.name, limits), on().remove(stored.name, limits), reading.next()]) {
      await expect(call).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    }
    expect(await on().stat(stored.name)).toEqual(stored);
  });

  test('200 files at once are all there, with their bytes', async () => {
    const files = Array.from({ length: 200 }, (_, index) => newFile(20_000 + index));
    const stored = await Promise.all(files.map((file) => on().create(file)));
    const bytes = await Promise.all(stored.map((file) => read(file)));
    expect(bytes.every((own, index) => files[index]?.bytes.equals(own))).toBe(true);
  });

  test('all files are listed, page by page', async () => {
    const file = newFile(1234);
    const stored = await on().create(file);
    const listed: ListedFile[] = [];
    let pages = 0;
    for (let after: string | null = null; ; pages++) {
      const page = await on().list(after, 100);
      expect(page.files.length).toBeLessThanOrEqual(100);
      listed.push(...page.files);
      if (page.next === null) break;
      after = page.next;
    }
    expect(pages).toBeGreaterThan(1);
    expect(new Set(listed.map(({ name }) => name)).size).toBe(listed.length);
    const { storedAt, expiresAt } = stored;
    expect(listed).toContainEqual({ name: file.name, size: 1234, storedAt, expiresAt });
  });
}
