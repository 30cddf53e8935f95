import { describe, expect, test } from 'vitest';
import { diagnosticsLimits } from '@webcapture/shared/api/diagnostics-limits.ts';
import { redactorOf } from '../../../services/renderer/diagnostics/redact.ts';

const redactor = redactorOf({
  headers: { Authorization: 'Bearer header-token', 'X-A': 'ab' },
  cookies: [{ name: 'sid', value: 'cookie value' }],
  auth: { username: 'ann', password: 'pass"word' },
  pdfEncryption: { userPassword: 'open-it', ownerPassword: 'change-it' },
  stepValues: ['typed & sent'],
});

test.each([
  ['the value of a header without its scheme', 'sent header-token', 'sent [redacted]'],
  ['a header', 'Authorization: Bearer header-token', 'Authorization: [redacted]'],
  ['a cookie in URL encoding', 'value=cookie%20value', 'value=[redacted]'],
  ['a password in JSON encoding', '{"password":"pass\\"word"}', '{"password":"[redacted]"}'],
  [
    'a login in the Authorization header',
    `Basic ${Buffer.from('ann:pass"word').toString('base64')}`,
    'Basic [redacted]',
  ],
  ['nothing for a value that is too short', 'ab c', 'ab c'],
  ['the passwords of a PDF', 'open-it and change-it', '[redacted] and [redacted]'],
  ['a value of a step as a form sends it', '?q=typed+%26+sent', '?q=[redacted]'],
  ['the user name as a separate word', 'user ann of /ann/ cannot', 'user [redacted] of /[redacted]/ cannot'],
  ['the credentials of an address', 'at http://u:p@a.example/x#token=1 now', 'at http://a.example/x now'],
])('a text is redacted without %s', (_what, text, expected) => {
  expect(redactor.text(text)).toBe(expected);
});

test.each([
  ['credentials and the fragment', 'https://u:p@a.example/x?a=1#b', 'https://a.example/x?a=1'],
  [
    'the values of parameters with secret names',
    'https://a.example/?api_key=1&q=2',
    'https://a.example/?api_key=[redacted]&q=2',
  ],
  ['a secret of the request', 'https://a.example/?q=header-token', 'https://a.example/?q=[redacted]'],
  ['the origin of supplied HTML', 'https://html.webcapture.invalid/', 'about:blank'],
])('an address is redacted without %s', (_what, url, expected) => {
  expect(redactor.url(url)).toBe(expected);
});

test('texts and addresses are truncated', () => {
  expect(redactor.text('x'.repeat(20_000))).toHaveLength(diagnosticsLimits.text);
  expect(redactor.url(`https://a.example/${'x'.repeat(5000)}`)).toHaveLength(diagnosticsLimits.url);
  expect(redactor.url(`data:image/png;base64,${'A'.repeat(5000)}`).length).toBeLessThan(100);
});

test('the cookies of a session, and long values of its storage, are redacted in a text', () => {
  const cookie = { name: 'sid', domain: 'a.example', path: '/', expires: -1, httpOnly: true, secure: true };
  const items = [
    { name: 'token', value: 'a token in the storage' },
    { name: 'theme', value: 'dark' },
  ];
  const { text } = redactorOf({
    session: {
      cookies: [{ ...cookie, value: 'a cookie', sameSite: 'Lax' }],
      origins: [{ origin: 'https://a.example', localStorage: items, sessionStorage: items }],
    },
  });
  expect(text('a cookie, a token in the storage, dark')).toBe('[redacted], [redacted], dark');
});

describe('a truncated text contains no part of a secret', () => {
  test('in an address with credentials', () => {
    const text = `${'y '.repeat(490)}https://user:password@a.example/`;
    expect(redactor.text(text)).toBe(`${'y '.repeat(490)}https://a.example/`.slice(0, diagnosticsLimits.text));
  });

  test('that is long and occurs several times', () => {
    const css = Array.from({ length: 600 }, (_, index) => `.c${index}`).join('');
    const text = redactorOf({ css }).text(css.repeat(4));
    expect(text).not.toContain('.c0');
  });
});
