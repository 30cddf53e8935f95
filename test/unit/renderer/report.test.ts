import { describe, expect, test } from 'vitest';
import { isChallenge, uniqueTimeouts } from '../../../services/renderer/page/report.ts';

describe('detection of challenges', () => {
  const answer = (status: number, headers: Record<string, string> = {}) => ({
    url: 'https://x.test/',
    status,
    headers,
  });

  test.for([
    [answer(200), 'A shop', false, false],
    [answer(403), 'Forbidden', false, false],
    [answer(403), 'Just a moment...', false, true],
    [answer(200), 'Robot Check', false, true],
    [answer(200), 'How to pass a robot check', false, false],
    [answer(200), 'Anything', true, true],
    [undefined, 'Anything', true, true],
    [answer(403, { 'cf-mitigated': 'challenge' }), '', false, true],
    [answer(200, { 'cf-mitigated': 'challenge' }), '', false, true],
    [answer(403, { 'cf-mitigated': 'other' }), '', false, false],
    [answer(200, { 'x-vercel-mitigated': 'challenge' }), '', false, true],
    [answer(200, { 'x-amzn-waf-action': 'challenge' }), '', false, true],
    [answer(200, { 'x-amzn-waf-action': 'captcha' }), '', false, true],
    [answer(200, { 'x-amzn-waf-action': 'count' }), '', false, false],
    [answer(200, { 'x-datadome': 'protected' }), 'A shop', false, false],
    [answer(399, { 'x-datadome': 'protected' }), 'A shop', false, false],
    [answer(400, { 'x-datadome': 'protected' }), 'x.test', false, true],
    [answer(403, { 'x-datadome': 'other' }), 'x.test', false, false],
    [undefined, 'Just a moment...', false, true],
    [undefined, '', false, false],
  ] as const)('%o', ([from, title, wall, expected]) => {
    expect(isChallenge(from, title, wall)).toBe(expected);
  });

  test.each([
    'Just a moment...',
    ' JUST A MOMENT... ',
    'Attention Required! | Cloudflare',
    'DDoS-Guard',
    'Access to this page has been denied.',
    'Pardon our interruption',
    'Making sure you’re not a bot!',
    'Vercel Security Checkpoint',
    'Verify you are human',
    'Please verify that you are a human',
    'Confirm you are a human',
    'Robot check',
    'Human verification',
    'Bot Check',
    'Are you a human?',
    'Are you a robot',
  ])('the title %j is one of a bot wall', (title) => {
    expect(isChallenge(undefined, title, false)).toBe(true);
  });

  test.each([
    'Just a moment... please',
    'Wait just a moment...',
    'Just a momentous',
    'Attention required! | Cloudflare Blog',
    'On attention required! | Cloudflare',
    'About DDoS-Guard',
    'DDoS-Guard prices',
    'How access to this page has been denied',
    'We pardon our interruption',
    'On making sure you’re not a bot',
    'Our Vercel Security Checkpoint',
    'Vercel Security Checkpoint explained',
    'How to verify you are human',
    'Are you a human? Yes',
    'So are you a human?',
    'Robot checks',
    'A human check',
  ])('the title %j is one of a page', (title) => {
    expect(isChallenge(undefined, title, false)).toBe(false);
  });
});

test('uniqueTimeouts keeps the order', () => {
  expect(uniqueTimeouts(['settle', 'load', 'settle', 'images'])).toEqual(['settle', 'load', 'images']);
});
