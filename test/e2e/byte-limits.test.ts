// @module-tag long
import { expect, test } from 'vitest';
import type { UsageView } from '@webcapture/shared/api/account.ts';
import { useFleet } from '../harness/use.ts';

const mebibyte = 2 ** 20;
const fleet = useFleet({ store: 'embedded', slots: 3, env: { WEBCAPTURE_FILES_MAX_BYTES: String(4 * mebibyte) } });

/** A page whose picture has about 470 KiB: all its pixels differ. */
const noise = {
  html: `<style>* { margin: 0 }</style><canvas width="400" height="400"></canvas><script>
    const context = document.querySelector('canvas').getContext('2d');
    const image = context.createImageData(400, 400);
    for (let index = 0; index < image.data.length; index++) {
      image.data[index] = index % 4 === 3 ? 255 : Math.random() * 256;
    }
    context.putImageData(image, 0, 0);
  </script>`,
  viewport: { width: 400, height: 400 },
};

test('an account that uses its share of the store gets 402, and another account can still capture', async () => {
  const { api, usageCheck, url } = fleet();
  const [full, other] = [await usageCheck.addAccount('full'), await usageCheck.addAccount('other')];
  const usage = async (key: string) => {
    const response = await fetch(`${url}/usage`, { headers: { authorization: `Bearer ${key}` } });
    return ((await response.json()) as { data: UsageView }).data;
  };
  const sizes: number[] = [];
  for (let number = 0; number < 2; number++) sizes.push((await api.captured(noise, full)).fileSizeBytes);
  const used = sizes.reduce((sum, size) => sum + size, 0);
  const refusal = await api.refused(noise, full);
  expect(refusal).toMatchObject({ status: 402, code: 'QUOTA_EXCEEDED' });
  expect(refusal.message).toContain(`The account uses ${used} of ${mebibyte} bytes of the part of the embedded store`);
  expect(await usage(full.key)).toMatchObject({
    tokensUsed: 2,
    storedBytes: used,
    embeddedBytes: used,
    maxEmbeddedBytes: mebibyte,
  });

  for (let number = 0; number < 2; number++) await api.captured(noise, other);
  // A file that fits is still accepted.
  await api.captured({ ...noise, viewport: { width: 16, height: 16 } }, full);
});
