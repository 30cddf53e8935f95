// @module-tag long
import { expect, test } from 'vitest';
import { browsersOf } from '../harness/processes.ts';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet({
  slots: 1,
  env: {
    WEBCAPTURE_CAPTURE_DOWNLOAD_MB: '2',
    WEBCAPTURE_PAGE_MEMORY_MB: '350',
    WEBCAPTURE_CAPTURES_PER_BROWSER: '3',
    WEBCAPTURE_PERSISTENCE_DAYS: '7',
  },
});
const site = useSite();

const renderer = () => fleet().renderer('us-east');

const browsers = () => browsersOf(renderer().pid);

test('a capture that downloads more than it may has its network cut, and is taken as it stands', async () => {
  const limits = () => renderer().metric('webcapture_renderer_network_limits_total');
  const capture = (bytes: number) => fleet().api.picture({ url: site().url('/loading', { bytes }) });
  expect((await capture(1_000_000)).picture.share('#00ff00')).toBe(1);
  expect(await limits()).toBe(0);
  expect((await capture(4_000_000)).picture.share('#00ff00')).toBe(1);
  expect(await limits()).toBe(1);
});

test('a page that holds more than a page may is ended, and one that holds less is not', async () => {
  const holding = (megabytes: number) => ({
    html: `<body style="margin:0;background:#00ff00"><script>
      const held = Array.from({ length: ${megabytes / 10} }, () => new Uint8Array(10_000_000).fill(1));
    </script>`,
    delay: 1500,
  });
  expect((await fleet().api.picture(holding(100))).picture.share('#00ff00')).toBe(1);
  const refusal = await fleet().api.refused(holding(500));
  expect(refusal).toMatchObject({
    status: 500,
    code: 'CAPTURE_FAILED',
    message: expect.stringMatching(/memory|crashed/),
  });
});

test('a browser is replaced after as many captures as it may have', async () => {
  // One for the slot, and one more: of six captures, one of them has had three.
  const before = await until('both browsers', async () => {
    const now = await browsers();
    return now.length === 2 && now;
  });
  for (let count = 0; count < 6; count++) await fleet().api.captured({ url: site().url('/colour') });
  await until('another browser in the place of one', async () => {
    const now = await browsers();
    return now.length === 2 && before.some((pid) => !now.includes(pid));
  });
});

test('a stored capture is kept for the days that the operator chose', async () => {
  const { metadata } = await fleet().api.captured({ url: site().url('/colour'), persistence: { enabled: true } });
  const days = (Date.parse(metadata.expiresAt) - Date.parse(metadata.capturedAt)) / 86_400_000;
  expect(days).toBeCloseTo(7, 3);
});
