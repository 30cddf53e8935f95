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

test('the network of a page that downloads too much is cut, and the page is captured in its current state', async () => {
  const limits = () => renderer().metric('webcapture_renderer_network_limits_total');
  const capture = (bytes: number) => fleet().api.picture({ url: site().url('/loading', { bytes }) });
  expect((await capture(1_000_000)).picture.share('#00ff00')).toBe(1);
  expect(await limits()).toBe(0);
  expect((await capture(4_000_000)).picture.share('#00ff00')).toBe(1);
  expect(await limits()).toBe(1);
});

test('a page that exceeds the memory limit is stopped, and one below the limit is not', async () => {
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

test('a browser is replaced after its maximum number of captures', async () => {
  // There is one browser for the slot, and one spare. Of six captures, one browser has rendered three.
  const before = await until('both browsers', async () => {
    const now = await browsers();
    return now.length === 2 && now;
  });
  for (let count = 0; count < 6; count++) await fleet().api.captured({ url: site().url('/color') });
  await until('a new browser in place of an old one', async () => {
    const now = await browsers();
    return now.length === 2 && before.some((pid) => !now.includes(pid));
  });
});

test('a persisted capture is kept for the number of days that the operator set', async () => {
  const { metadata } = await fleet().api.captured({ url: site().url('/color'), persistence: { enabled: true } });
  const days = (Date.parse(metadata.expiresAt) - Date.parse(metadata.capturedAt)) / 86_400_000;
  expect(days).toBeCloseTo(7, 3);
});
