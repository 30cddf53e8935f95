import { describe, expect, test } from 'vitest';
import { FileReplacedError, type StoredFile } from '@webcapture/shared/files/file-store.ts';
import { contentTag } from '@webcapture/shared/files/upload.ts';
import { replaceFile, type Storing } from '../../../harness/place-file.ts';
import type { NamedFile } from '../../../harness/records.ts';
import { until } from '../../../harness/until.ts';
import { another, bytesOf, pair, part, statOf } from './stored-files.ts';

/** Tests how a store replaces a file. */
export function replacementSuite(storing: () => Storing): void {
  const on = () => storing().store;
  const replace = (file: NamedFile) => replaceFile(storing(), file);
  const read = (file: StoredFile) => bytesOf(on(), file);
  const stat = (name: string) => statOf(on(), name);

  describe('a file that is replaced', () => {
    test.concurrent('has the bytes and the metadata of the new file', async () => {
      const { old, stored, next } = await pair(on());
      const replaced = await replace(next);
      expect(replaced).toMatchObject({ name: old.name, size: next.bytes.length, height: 5, cacheSeconds: 300 });
      expect(replaced.etag).not.toBe(stored.etag);
      const found = await stat(old.name);
      expect(found).toEqual(replaced);
      expect((await read(found)).equals(next.bytes)).toBe(true);
    });

    test.concurrent('keeps its ETag if its bytes are equal', async () => {
      const { old, stored } = await pair(on());
      const replaced = await replace({ ...old, expiresAt: old.expiresAt + 60_000 });
      expect(replaced).toMatchObject({ etag: stored.etag, expiresAt: old.expiresAt + 60_000 });
    });

    test.concurrent('is read to its end by a reader that has begun before', async () => {
      const { old, stored, next } = await pair(on(), 20 * part);
      const reading = on().read(stored)[Symbol.asyncIterator]();
      const chunks = [(await reading.next()).value as Uint8Array];
      await replace(next);
      for (let step = await reading.next(); step.done !== true; step = await reading.next()) chunks.push(step.value);
      expect(Buffer.concat(chunks).equals(old.bytes)).toBe(true);
    });

    test.concurrent('returns its old bytes or a FileReplacedError to a reader that looked it up before', async () => {
      const { old, stored, next } = await pair(on());
      await replace(next);
      const bytes = await read(stored).catch((error: unknown) => error);
      if (Buffer.isBuffer(bytes)) expect(bytes.equals(old.bytes)).toBe(true);
      else expect(bytes).toBeInstanceOf(FileReplacedError);
    });

    test.concurrent('is always one whole version for its readers', async () => {
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
      const tags = () => new Set(seen.map(([etag]) => etag)).size;
      for (let turn = 0; turn < 15 || (tags() < 2 && turn < 300); turn++) {
        const next = another(old, 2 * part + turn);
        known.set(contentTag(next.bytes), next.bytes);
        await replace(next);
      }
      done = true;
      expect((await Promise.all(readers)).every((times) => times > 0)).toBe(true);
      expect(seen.every(([etag, bytes]) => known.get(etag)?.equals(bytes))).toBe(true);
      expect(tags()).toBeGreaterThan(1);
    });

    test.concurrent('expires at the time of the new file', async () => {
      const { old, next } = await pair(on());
      await replace({ ...next, expiresAt: Date.now() + 1000 });
      await until('the file to be gone', async () => (await on().stat(old.name)) === null);
    });

    test.concurrent('is one of the new files, whole, after concurrent replacements', async () => {
      const { old } = await pair(on());
      const files = Array.from({ length: 4 }, () => another(old));
      const results = await Promise.all(files.map((file) => replace(file)));
      const found = await stat(old.name);
      expect(results.map(({ etag }) => etag)).toContain(found.etag);
      expect(files.some(({ bytes }) => contentTag(bytes) === found.etag)).toBe(true);
      expect(contentTag(await read(found))).toBe(found.etag);
    });

    test.concurrent('and has been removed meanwhile exists again', async () => {
      const { old, next } = await pair(on());
      await on().remove(old.name);
      const replaced = await replace(next);
      expect(await on().stat(old.name)).toEqual(replaced);
      expect((await read(replaced)).equals(next.bytes)).toBe(true);
    });
  });
}
