import { randomUUIDv7 } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type { ExpectedUpload, StoredFile, Upload } from '@webcapture/shared/files/file-store.ts';
import { contentTag } from '@webcapture/shared/files/upload.ts';
import { asRefresh, expectedOf, type Storing } from '../../../harness/place-file.ts';
import { type NamedFile, newFile } from '../../../harness/records.ts';
import { another, bytesOf, pair, part, statOf } from './stored-files.ts';

/** Tests which uploads a store accepts. */
export function uploadSuite(storing: () => Storing): void {
  const on = () => storing().store;
  const read = (file: StoredFile) => bytesOf(on(), file);
  const stat = (name: string) => statOf(on(), name);

  describe('an upload', () => {
    const { uploader, store } = { uploader: () => storing().uploader, store: on };

    test.concurrent.each([33, part, 3 * part + 7])(
      'of %i bytes becomes the file, even if it is accepted repeatedly',
      async (size) => {
        const file = newFile(size, { cacheSeconds: 300 });
        const uploading = uploader().upload(file);
        const upload = await uploading.sent;
        expect(await uploading.stored).toEqual(upload);
        expect(JSON.parse(JSON.stringify(upload))).toEqual(upload);
        const accepted = await store().accept(upload, expectedOf(file));
        expect(accepted).toMatchObject({ file: { name: file.name, size, cacheSeconds: 300, width: 3 } });
        expect(await store().accept(upload, expectedOf(file))).toEqual(accepted);
        await store().discard(file.name, upload);
        const found = await stat(file.name);
        expect(found).toEqual(accepted.file);
        expect((await read(found)).equals(file.bytes)).toBe(true);
      },
    );

    test.concurrent.each([33, 3 * part + 7])(
      'of %i bytes is returned on request if the store reads uploads',
      async (size) => {
        const file = newFile(size);
        const upload = await uploader().upload(file).stored;
        const wanted = { ...expectedOf(file), wantsBytes: true };
        const read = store().readsUploads ? file.bytes : undefined;
        expect((await store().accept(upload, expectedOf(file))).bytes).toBeUndefined();
        expect((await store().accept(upload, wanted)).bytes).toEqual(read);
      },
    );

    test.concurrent('returns no bytes if another file is already in place', async () => {
      const first = newFile(part);
      const second = another(first, 2 * part);
      for (const file of [first, second]) {
        const upload = await uploader().upload(file).stored;
        const { bytes, file: placed } = await store().accept(upload, { ...expectedOf(file), wantsBytes: true });
        expect(placed.etag).toBe(contentTag(first.bytes));
        expect(bytes).toEqual(file === first && store().readsUploads ? first.bytes : undefined);
      }
    });

    test.concurrent('that replaced a file can be accepted again, also concurrently', async () => {
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

    test.concurrent('of a second delivery does not replace the first', async () => {
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

    test.concurrent('that does not exist is rejected as missing, and the existing file stays', async () => {
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
      expect((await store().accept(upload, expectedOf(refresh))).file.etag).toBe(upload.etag);
    });
  });
}
