import { expect, test } from 'vitest';
import { readCommonConfig } from '@webcapture/shared/runtime/config.ts';
import { EnvReader } from '@webcapture/shared/runtime/env.ts';

function natsOf(environment: Record<string, string>) {
  const env = new EnvReader({ WEBCAPTURE_REGIONS: 'us-east', ...environment });
  return env.finish(() => readCommonConfig(env, { opsPort: 1 })).nats;
}

test('any TLS variable and any tls:// address turns TLS on', () => {
  expect(natsOf({ WEBCAPTURE_NATS_URL: 'nats://a:4222' })).not.toHaveProperty('tls');
  expect(natsOf({ WEBCAPTURE_NATS_URL: 'nats://a:4222,tls://b:4222' }).tls).toEqual({ handshakeFirst: false });
  expect(natsOf({ WEBCAPTURE_NATS_TLS_FIRST: 'on' }).tls).toEqual({ handshakeFirst: true });
  expect(natsOf({ WEBCAPTURE_NATS_CA_FILE: '/ca.pem' }).tls).toEqual({ caFile: '/ca.pem', handshakeFirst: false });
});
