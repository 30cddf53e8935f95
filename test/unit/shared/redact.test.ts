import { expect, test } from 'vitest';
import { redactUrls } from '@webcapture/shared/runtime/logger.ts';

test.each([
  ['GET https://example.com/a?token=s3cret#x failed', 'GET https://example.com/a failed'],
  ['https://user:s3cret@example.com:8443/a', 'https://example.com:8443/a'],
  ['"http://a.example/?q=1","http://b.example/x"', '"http://a.example/","http://b.example/x"'],
  ['wss://a.example/socket?key=1', 'wss://a.example/socket'],
  ['Authorization: Bearer wc_live_abc', 'Authorization: Bearer [redacted]'],
  ['http://[bad?secret=1', 'http://[bad'],
  ['http://user:s3cret@[bad/a', 'http://[bad/a'],
  ['nats://u:s3cret@a:4222,nats://u:s3cret@b:4222 is down', 'nats://a:4222,nats://b:4222 is down'],
  ['tls://s3cret@nats.example:4222', 'tls://nats.example:4222'],
  ['nothing to hide', 'nothing to hide'],
])('the text "%s" is redacted', (text, expected) => {
  expect(redactUrls(text)).toBe(expected);
});
