import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { expect, test } from 'vitest';
import { maxExtractedBytes } from '@webcapture/shared/api/formats.ts';
import { packExtracted } from '@webcapture/shared/files/extracted-file.ts';
import { readExtracted } from '@webcapture/shared/files/read-extracted.ts';
import { FileReplacedError, type FileStore, type StoredFile } from '@webcapture/shared/files/file-store.ts';
import { fake } from '../../harness/fake.ts';

const file = { fileName: 'a.png', format: 'png' } as const;

/** A store whose file is replaced during this number of reads. */
const replacedOften = (times: number) => {
  let left = times;
  return fake<FileStore>({
    stat: async () => ({ size: 100 }) as StoredFile,
    async *read() {
      left -= 1;
      if (left >= 0) throw new FileReplacedError();
      yield await packExtracted({ text: 'of the newer one' });
    },
  });
};

test('if the file is replaced during the read, readExtracted reads again, at most twice', async () => {
  expect(await readExtracted(replacedOften(2), file, {})).toEqual({ text: 'of the newer one' });
  await expect(readExtracted(replacedOften(3), file, {})).rejects.toBeInstanceOf(FileReplacedError);
});

test('readExtracted refuses a part that is too large, with its name', async () => {
  const stored = (text: string) =>
    fake<FileStore>({
      stat: async () => ({ size: 100 }) as StoredFile,
      async *read() {
        yield await promisify(gzip)(JSON.stringify({ text }));
      },
    });
  const text = 'a'.repeat(maxExtractedBytes);
  expect(await readExtracted(stored(text), file, {})).toEqual({ text });
  await expect(readExtracted(stored(`${text}a`), file, {})).rejects.toThrow('text is too large');
});
