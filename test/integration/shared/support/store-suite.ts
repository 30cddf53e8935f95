import { randomUUIDv7 } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { extractedType } from '@webcapture/shared/api/formats.ts';
import { packExtracted } from '@webcapture/shared/files/extracted-file.ts';
import { readExtracted } from '@webcapture/shared/files/read-extracted.ts';
import { extractedName, newFileName } from '@webcapture/shared/files/file-name.ts';
import { type ByteRange, FileReplacedError, type StoredFile } from '@webcapture/shared/files/file-store.ts';
import { asRefresh, placeFile, replaceFile, type Storing } from '../../../harness/place-file.ts';
import { type NamedFile, newFile } from '../../../harness/records.ts';
import { until } from '../../../harness/until.ts';
import { replacementSuite } from './replacement-suite.ts';
import { another, bytesOf, part, statOf } from './stored-files.ts';
import { uploadSuite } from './upload-suite.ts';

/** Tests what every store of files must do. `storing` returns the store; it is called within tests. */
export function storeSuite(storing: () => Storing): void {
  const on = () => storing().store;
  const read = (file: StoredFile, range?: ByteRange) => bytesOf(on(), file, range);
  const stat = (name: string) => statOf(on(), name);

  describe('a file', () => {
    test.concurrent.each([1, part - 1, part, part + 1, 3 * part, 20 * part + 7, 40 * part])(
      'of %i bytes is stored and read unchanged',
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

    test.concurrent('is copied once, and its copy stays when it is replaced or removed', async () => {
      const file = newFile(2 * part + 7, { cacheSeconds: 300 });
      await on().create(file);
      const name = newFileName(file.name.slice(0, 36), 'png');
      const to = { name, region: 'us-east', account: 'acme' } as const;
      const copy = await on().copy(file.name, to);
      expect(copy).toMatchObject({ name, size: file.bytes.length, contentType: 'image/png', width: 3, height: 4 });
      expect(copy).toMatchObject({ expiresAt: file.expiresAt, cacheSeconds: undefined });
      await replaceFile(storing(), another(file, 100));
      expect(await on().copy(file.name, to)).toEqual(copy);
      await on().remove(file.name);
      expect((await read(await stat(name))).equals(file.bytes)).toBe(true);
      await on().remove(name);
      expect(await on().stat(name)).toBeNull();
    });

    test.concurrent('can be copied several times at once', async () => {
      const file = newFile(part);
      await on().create(file);
      const to = { name: newFileName(file.name.slice(0, 36), 'png'), region: 'us-east', account: 'acme' } as const;
      const copies = await Promise.all(Array.from({ length: 4 }, () => on().copy(file.name, to)));
      const tags = copies.map((copy) => copy?.etag);
      expect(new Set([...tags, (await stat(to.name)).etag]).size).toBe(1);
    });

    test.concurrent('that does not exist is not copied', async () => {
      const { name } = newFile(1);
      const to = { name: newFileName(name.slice(0, 36), 'png'), region: 'us-east', account: 'acme' } as const;
      expect(await on().copy(name, to)).toBeNull();
    });

    test.concurrent('is not replaced by a second file of its name', async () => {
      const first = newFile(2 * part);
      const stored = await on().create(first);
      const again = await on().create(another(first, 3 * part));
      expect(again).toEqual(stored);
      expect((await read(again)).equals(first.bytes)).toBe(true);
    });

    test.concurrent('has an ETag that depends only on its bytes', async () => {
      const { bytes } = newFile(100);
      const files = [newFile(100, { bytes }), newFile(100, { bytes }), newFile(100)];
      const [a, b, c] = await Promise.all(files.map((file) => on().create(file)));
      expect(a?.etag).toBe(b?.etag);
      expect(a?.etag).not.toBe(c?.etag);
    });

    test.concurrent('no longer exists after its removal, which can be repeated', async () => {
      const file = newFile(2 * part);
      const stored = await on().create(file);
      await on().remove(file.name);
      expect(await on().stat(file.name)).toBeNull();
      await expect(read(stored)).rejects.toBeInstanceOf(FileReplacedError);
      await on().remove(file.name);
    });

    test.concurrent('no longer exists after its expiry, and its name is free', async () => {
      const file = newFile(10, { expiresAt: Date.now() + 1000 });
      await on().create(file);
      await until('the file to be gone', async () => (await on().stat(file.name)) === null);
      // The server of the embedded store removes expired messages every second.
      const next = another(file, 20);
      await until('the name to be free', async () => (await on().create(next)).size === 20);
      expect((await read(await stat(file.name))).equals(next.bytes)).toBe(true);
    });

    test.concurrent('that was never stored does not exist', async () => {
      expect(await on().stat(newFileName(randomUUIDv7(), 'webp'))).toBeNull();
    });
  });

  replacementSuite(storing);
  uploadSuite(storing);

  test.concurrent('a call after its deadline fails', async () => {
    const stored = await on().create(newFile(10));
    const limits = { deadline: Date.now() - 1 };
    const reading = on().read(stored, undefined, limits)[Symbol.asyncIterator]();
    for (const call of [on().stat(stored.name, limits), on().remove(stored.name, limits), reading.next()]) {
      await expect(call).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    }
    expect(await on().stat(stored.name)).toEqual(stored);
  });

  test.concurrent('extracted content is stored next to its file, and is replaced and removed separately', async () => {
    const old = newFile(part);
    await placeFile(storing(), old);
    const withExtracted = async (text: string, picture: NamedFile) => ({
      ...picture,
      name: extractedName(picture.name),
      object: extractedName(picture.object),
      contentType: extractedType,
      bytes: await packExtracted({ text }),
    });
    await placeFile(storing(), await withExtracted('first', old));
    expect(await readExtracted(on(), { fileName: old.name, format: 'png' }, {})).toEqual({ text: 'first' });
    expect((await read(await stat(old.name))).equals(old.bytes)).toBe(true);

    const next = asRefresh(another(old));
    await placeFile(storing(), next);
    expect(await readExtracted(on(), { fileName: old.name, format: 'png' }, {})).toEqual({ text: 'first' });
    await placeFile(storing(), await withExtracted('second', next));
    expect(await readExtracted(on(), { fileName: old.name, format: 'png' }, {})).toEqual({ text: 'second' });

    await on().remove(old.name);
    expect(await readExtracted(on(), { fileName: old.name, format: 'png' }, {})).toEqual({ text: 'second' });
    await on().remove(extractedName(old.name));
    await expect(readExtracted(on(), { fileName: old.name, format: 'png' }, {})).rejects.toThrow('does not exist');

    const html = {
      ...(await withExtracted('', newFile(1))),
      bytes: Buffer.from('<script>alert(1)</script>'.repeat(4)),
    };
    await expect(placeFile(storing(), html)).rejects.toMatchObject({ reason: 'wrong_type' });
  });

  test('200 files that are stored at once are all there, unchanged', async () => {
    const files = Array.from({ length: 200 }, (_, index) => newFile(20_000 + index));
    const stored = await Promise.all(files.map((file) => on().create(file)));
    const bytes = await Promise.all(stored.map((file) => read(file)));
    expect(bytes.every((own, index) => files[index]?.bytes.equals(own))).toBe(true);
  });
}
