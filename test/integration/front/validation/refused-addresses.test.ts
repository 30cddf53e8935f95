import { describe, expect, test } from 'vitest';
import { notationsOf } from '../../egress/refused-hosts.ts';
import { url, useValidation } from './use-validation.ts';

const { ask } = useValidation();

test.each([
  'http://127.0.0.1/',
  'http://localhost:8080/',
  'http://2130706433/',
  'http://0x7f.1/',
  'http://[::1]/',
  'http://[::ffff:10.0.0.1]/',
  'http://169.254.169.254/latest/meta-data/',
  'http://10.1.2.3/',
  'http://example.com:22/',
])('the address %s is refused by the egress policy', async (address) => {
  expect(await ask({ url: address })).toMatchObject({ status: 400, code: 'URL_BLOCKED' });
});

describe('a webhook', () => {
  test.each([...notationsOf('127.0.0.1'), 'localhost', 'a.localhost', '10.1.2.3', '[fd00::1]', 'example.com:22'])(
    'to %s is refused by the egress policy',
    async (host) => {
      const answer = await ask({ url, background: true, webhook: { url: `http://${host}/` } });
      expect(answer.status).toBe(400);
      // Some notations are not valid URLs.
      const wanted = URL.canParse(`http://${host}/`) ? 'URL_BLOCKED' : 'VALIDATION_ERROR';
      expect(answer.code).toBe(wanted);
      expect(answer.message).toContain('webhook.url');
    },
  );

  test('is refused with a message without its password', async () => {
    const { message } = await ask({ url, background: true, webhook: { url: 'https://user:hunter2@example.com/' } });
    expect(message).not.toContain('hunter2');
  });
});
