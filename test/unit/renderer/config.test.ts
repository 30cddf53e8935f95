import { expect, test } from 'vitest';
import { readRendererConfig } from '../../../services/renderer/config.ts';

test('WEBCAPTURE_EGRESS_DENY and WEBCAPTURE_CAPTURE_DOWNLOAD_MB limit captures', () => {
  expect(readRendererConfig({})).toMatchObject({ egressAllow: [], egressDeny: [], downloadBytes: 512 * 1024 * 1024 });
  const chosen = { WEBCAPTURE_EGRESS_DENY: ' 93.184.0.0/16, fd12::/16 ', WEBCAPTURE_CAPTURE_DOWNLOAD_MB: '20' };
  expect(readRendererConfig(chosen)).toMatchObject({
    egressDeny: ['93.184.0.0/16', 'fd12::/16'],
    downloadBytes: 20 * 1024 * 1024,
  });
});

test.each([
  [{ WEBCAPTURE_EGRESS_DENY: 'all' }, 'WEBCAPTURE_EGRESS_DENY "all" is not a CIDR block such as 10.0.0.0/8'],
  [{ WEBCAPTURE_CAPTURE_DOWNLOAD_MB: '0' }, 'WEBCAPTURE_CAPTURE_DOWNLOAD_MB must be an integer from 1'],
])('%j stops the start', (environment, message) => {
  expect(() => readRendererConfig(environment)).toThrow(message);
});
