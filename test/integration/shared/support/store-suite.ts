import { randomUUIDv7 } from 'node:crypto';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { extractedType } from '@webcapture/shared/api/formats.ts';
import { packExtracted } from '@webcapture/shared/files/extracted-file.ts';
import { readExtracted } from '@webcapture/shared/files/read-extracted.ts';
import { extractedName, newFileName } from '@webcapture/shared/files/file-name.ts';
import {
  type ByteRange,
  type CallLimits,
  type ExpectedUpload,
  FileReplacedError,
  type FileStore,
  type ListedFile,
  type StoredFile,
  type Upload,
} from '@webcapture/shared/files/file-store.ts';
import { contentTag } from '@webcapture/shared/files/upload.ts';
import { asRefresh, expectedOf, placeFile, replaceFile, type Storing } from '../../../harness/place-file.ts';
import { type NamedFile, newFile } from '../../../harness/records.ts';
import { until } from '../../../harness/until.ts';

const part = 256 * 1024;

const picture = (background: string, compressionLevel: number) =>
  sharp({ create: { width: 30, height: 20, channels: 3, background } })
    .png({ compressionLevel })
    .toBuffer();

/** Another picture for the same name. */
export const another = (file: { readonly name: string }, size = part) => newFile(size, { name: file.name });

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

/** What every store of files promises, whatever it is made of. `storing`: the store; called inside of tests. */
export function storeSuite(storing: () => Storing): void {
  const on = () => storing().store;
  const replace = (file: NamedFile) => replaceFile(storing(), file);
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
      const replaced = await replace(next);
      expect(replaced).toMatchObject({ name: old.name, size: next.bytes.length, height: 5, cacheSeconds: 300 });
      expect(replaced.etag).not.toBe(stored.etag);
      const found = await stat(old.name);
      expect(found).toEqual(replaced);
      expect((await read(found)).equals(next.bytes)).toBe(true);
    });

    test.concurrent('keeps its tag with its bytes', async () => {
      const { old, stored } = await pair(on());
      const replaced = await replace({ ...old, expiresAt: old.expiresAt + 60_000 });
      expect(replaced).toMatchObject({ etag: stored.etag, expiresAt: old.expiresAt + 60_000 });
    });

    test.concurrent('is read to its end by whoever has begun', async () => {
      const { old, stored, next } = await pair(on(), 20 * part);
      const reading = on().read(stored)[Symbol.asyncIterator]();
      const chunks = [(await reading.next()).value as Uint8Array];
      await replace(next);
      for (let step = await reading.next(); step.done !== true; step = await reading.next()) chunks.push(step.value);
      expect(Buffer.concat(chunks).equals(old.bytes)).toBe(true);
    });

    test.concurrent('is read as it was, or not at all, by whoever only knew of it', async () => {
      const { old, stored, next } = await pair(on());
      await replace(next);
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

    test.concurrent('goes when the time of the new one is over', async () => {
      const { old, next } = await pair(on());
      await replace({ ...next, expiresAt: Date.now() + 1000 });
      await until('the file to be gone', async () => (await on().stat(old.name)) === null);
    });

    test.concurrent('is, of many that come at once, the one that came last, whole', async () => {
      const { old } = await pair(on());
      const files = Array.from({ length: 4 }, () => another(old));
      const results = await Promise.all(files.map((file) => replace(file)));
      const found = await stat(old.name);
      expect(results.map(({ etag }) => etag)).toContain(found.etag);
      expect(files.some(({ bytes }) => contentTag(bytes) === found.etag)).toBe(true);
      expect(contentTag(await read(found))).toBe(found.etag);
    });

    test.concurrent('and has gone meanwhile is there again', async () => {
      const { old, next } = await pair(on());
      await on().remove(old.name);
      const replaced = await replace(next);
      expect(await on().stat(old.name)).toEqual(replaced);
      expect((await read(replaced)).equals(next.bytes)).toBe(true);
    });

    test.concurrent(
      'keeps its bytes and its tag when the new one shows the same, and its place when kept alike',
      async () => {
        const [first, again] = await Promise.all([1, 9].map((level) => picture('#abc', level)));
        if (first === undefined || again === undefined) throw new Error('no pictures');
        expect(first.equals(again)).toBe(false);
        const old = newFile(0, { bytes: first, width: 30, height: 20 });
        const stored = await on().create(old);
        const same = asRefresh({ ...old, bytes: again });
        expect(await placeFile(storing(), same)).toEqual({ file: stored, isSame: true });
        expect(await on().stat(old.name)).toEqual(stored);
        const later = { ...asRefresh({ ...old, bytes: again }), expiresAt: old.expiresAt + 60_000, cacheSeconds: 300 };
        const extended = await placeFile(storing(), later);
        expect(extended).toMatchObject({
          isSame: true,
          file: { etag: stored.etag, expiresAt: later.expiresAt, cacheSeconds: 300 },
        });
        expect((await read(await stat(old.name))).equals(first)).toBe(true);
        const other = asRefresh({ ...old, bytes: await picture('#abf', 1) });
        expect(await placeFile(storing(), other)).toMatchObject({ isSame: false });
        expect((await read(await stat(old.name))).equals(other.bytes)).toBe(true);
      },
    );
  });

  describe('an upload', () => {
    const { uploader, store } = { uploader: () => storing().uploader, store: on };

    test.concurrent.each([33, part, 3 * part + 7])(
      'of %i bytes becomes the file, however often it is accepted',
      async (size) => {
        const file = newFile(size, { cacheSeconds: 300 });
        const uploading = uploader().upload(file);
        const upload = await uploading.sent;
        expect(await uploading.stored).toEqual(upload);
        expect(JSON.parse(JSON.stringify(upload))).toEqual(upload);
        const accepted = await store().accept(upload, expectedOf(file));
        expect(accepted).toMatchObject({ isSame: false, file: { name: file.name, size, cacheSeconds: 300, width: 3 } });
        expect(await store().accept(upload, expectedOf(file))).toEqual(accepted);
        await store().discard(file.name, upload);
        const found = await stat(file.name);
        expect(found).toEqual(accepted.file);
        expect((await read(found)).equals(file.bytes)).toBe(true);
      },
    );

    test.concurrent.each([33, 3 * part + 7])(
      'of %i bytes is returned to whoever wants it, where it was read',
      async (size) => {
        const file = newFile(size);
        const upload = await uploader().upload(file).stored;
        const wanted = { ...expectedOf(file), wantsBytes: true };
        const read = store().readsUploads ? file.bytes : undefined;
        expect((await store().accept(upload, expectedOf(file))).bytes).toBeUndefined();
        expect((await store().accept(upload, wanted)).bytes).toEqual(read);
      },
    );

    test.concurrent('returns nothing of itself where another file is in place', async () => {
      const first = newFile(part);
      const second = another(first, 2 * part);
      for (const file of [first, second]) {
        const upload = await uploader().upload(file).stored;
        const { bytes, file: placed } = await store().accept(upload, { ...expectedOf(file), wantsBytes: true });
        expect(placed.etag).toBe(contentTag(first.bytes));
        expect(bytes).toEqual(file === first && store().readsUploads ? first.bytes : undefined);
      }
    });

    test.concurrent('that replaced a file may be accepted again, also by many at once', async () => {
      const { next } = await pair(on());
      const refresh = asRefresh(next);
      const upload = await uploader().upload(refresh).stored;
      const all = await Promise.all([1, 2, 3].map(() => store().accept(upload, expectedOf(refresh))));
      await store().discard(next.name, upload);
      const again = await store().accept(upload, expectedOf(refresh));
      expect(again.file).toEqual(await stat(next.name));
      expect(all.every(({ file }) => file.etag === again.file.etag)).toBe(true);
      expect((await read(again.file)).equals(next.bytes)).toBe(true);
    });

    test.concurrent('of a second delivery does not take the place of the first', async () => {
      const first = newFile(part);
      const second = newFile(2 * part, { name: first.name });
      const uploads = await Promise.all([uploader().upload(first).stored, uploader().upload(second).stored]);
      const files = [];
      for (const upload of uploads) files.push((await store().accept(upload, expectedOf(first))).file);
      expect(files[1]?.etag).toBe(files[0]?.etag);
      for (const upload of uploads) await store().discard(first.name, upload);
      const found = await stat(first.name);
      expect(found.etag).toBe(files[0]?.etag);
      expect(contentTag(await read(found))).toBe(found.etag);
    });

    const file = (changes: Partial<NamedFile> = {}) => newFile(1000, changes);
    const rejected: [
      string,
      string,
      () => NamedFile,
      (upload: Upload, expected: ExpectedUpload) => [Upload, ExpectedUpload],
    ][] = [
      ['of another type than asked for', 'wrong_type', file, (u, e) => [u, { ...e, contentType: 'image/webp' }]],
      [
        'that is no png',
        'wrong_type',
        () => file({ bytes: Buffer.from('<script>alert(1)</script>'.repeat(4)) }),
        (u, e) => [u, e],
      ],
      ['that is no jpeg', 'wrong_type', () => file({ contentType: 'image/jpeg' }), (u, e) => [u, e]],
      ['that is no pdf', 'wrong_type', () => file({ contentType: 'application/pdf' }), (u, e) => [u, e]],
      ['of more bytes than there are', 'wrong_size', file, (u, e) => [{ ...u, size: 1001 }, e]],
      ['of no bytes', 'wrong_size', file, (u, e) => [{ ...u, size: 0 }, e]],
      ['of a size that is none', 'wrong_size', file, (u, e) => [{ ...u, size: 1e300 }, e]],
      ['of more bytes than allowed', 'wrong_size', file, (u, e) => [u, { ...e, maxBytes: 999 }]],
      ['of other pixels than it shows', 'wrong_size', file, (u, e) => [{ ...u, width: 30_000 }, e]],
      ['of no pixels', 'wrong_size', file, (u, e) => [{ ...u, height: -1 }, e]],
      ['with another tag', 'foreign', file, (u, e) => [{ ...u, etag: '0'.repeat(32) }, e]],
      ['for another object', 'foreign', file, (u, e) => [u, { ...e, object: newFileName(randomUUIDv7(), 'png') }]],
      ['whose object is nonsense', 'foreign', file, (u, e) => [{ ...u, object: '../../x' }, e]],
      ['that ends too early', 'expired', file, (u, e) => [u, { ...e, expiresAt: e.expiresAt + 3_600_000 }]],
      ['that ends too late', 'expired', file, (u, e) => [u, { ...e, expiresAt: e.expiresAt - 3_000_000 }]],
    ];
    test.concurrent.each(rejected)('%s is rejected as %s', async (_, reason, make, change) => {
      const made = make();
      const upload = await uploader().upload(made).stored;
      const call = store().accept(...change(upload, expectedOf(made)));
      await expect(call).rejects.toMatchObject({ name: 'UploadRejectedError', code: 'STORAGE_FAILED', reason });
    });

    test.concurrent('that is not there is rejected as missing, and what is there stays', async () => {
      const { old, stored, next } = await pair(on());
      const refresh = asRefresh(next);
      const upload = await uploader().upload(refresh).stored;
      await store().discard(old.name, upload);
      await store().discard(old.name, upload);
      const call = store().accept(upload, expectedOf(refresh));
      await expect(call).rejects.toMatchObject({ name: 'UploadRejectedError', reason: 'missing' });
      expect(await stat(old.name)).toEqual(stored);
    });

    test.concurrent('of another capture is not discarded', async () => {
      const refresh = asRefresh((await pair(on())).next);
      const upload = await uploader().upload(refresh).stored;
      await store().discard(newFileName(randomUUIDv7(), 'png'), upload);
      expect(await store().accept(upload, expectedOf(refresh))).toMatchObject({ isSame: false });
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

  test.concurrent('what was extracted stands beside its file, and is replaced and removed by itself', async () => {
    const old = newFile(part);
    await placeFile(storing(), old);
    const beside = async (text: string, picture: NamedFile) => ({
      ...picture,
      name: extractedName(picture.name),
      object: extractedName(picture.object),
      contentType: extractedType,
      bytes: await packExtracted({ text }),
    });
    await placeFile(storing(), await beside('first', old));
    expect(await readExtracted(on(), old.name, {})).toEqual({ text: 'first' });
    expect((await read(await stat(old.name))).equals(old.bytes)).toBe(true);

    const next = asRefresh(another(old));
    await placeFile(storing(), next);
    expect(await readExtracted(on(), old.name, {})).toEqual({ text: 'first' });
    await placeFile(storing(), await beside('second', next));
    expect(await readExtracted(on(), old.name, {})).toEqual({ text: 'second' });

    await on().remove(old.name);
    expect(await readExtracted(on(), old.name, {})).toEqual({ text: 'second' });
    await on().remove(extractedName(old.name));
    await expect(readExtracted(on(), old.name, {})).rejects.toThrow('does not exist');

    const html = { ...(await beside('', newFile(1))), bytes: Buffer.from('<script>alert(1)</script>'.repeat(4)) };
    await expect(placeFile(storing(), html)).rejects.toMatchObject({ reason: 'wrong_type' });
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
    const beside = { bytes: await packExtracted({ text: '' }), contentType: extractedType };
    await on().create({ ...file, ...beside, object: extractedName(file.name) });
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
    expect(listed).toContainEqual(expect.objectContaining({ name: extractedName(file.name), expiresAt }));
  });
}
