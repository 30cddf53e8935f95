import type { DocumentAnswer } from './main-document.ts';

/** Elements that only the pages of bot walls have. */
export const wallSelector = [
  '#challenge-error-text',
  '#challenge-form',
  '#cf-challenge-running',
  'form[action*="__cf_chl"]',
  'iframe[src*="captcha-delivery.com"]',
  '#px-captcha',
  '#ddg-captcha',
  'iframe[src*="_Incapsula_Resource"]',
  'script[src*="sucuri_cloudproxy"]',
  'script[src*="awswaf.com"] ~ #challenge-container',
  '#anubis_challenge',
  'form#captcha-form[action*="/sorry/"]',
].join(',');

const titles = [
  /^just a moment\.\.\.$/i,
  /^attention required! \| cloudflare$/i,
  /^ddos-guard$/i,
  /^access to this page has been denied/i,
  /^pardon our interruption/i,
  /^making sure you.re not a bot/i,
  /^vercel security checkpoint$/i,
  /^(please )?(verify|confirm) (that )?you are (a )?human/i,
  /^(robot|human|bot) (check|verification)$/i,
  /^are you a (human|robot)\??$/i,
];

/** Answers that say of themselves that they are a wall. */
const headers: readonly (readonly [name: string, value: RegExp])[] = [
  ['cf-mitigated', /challenge/],
  ['x-vercel-mitigated', /challenge/],
  ['x-amzn-waf-action', /challenge|captcha/],
  ['x-datadome', /protected/],
];

/**
 * Whether the page is the wall of a bot detection in place of the page that was asked for.
 *
 * @param wall elements of {@link wallSelector} are there
 */
export function isChallenge(answer: DocumentAnswer | undefined, title: string, wall: boolean): boolean {
  const refused = answer !== undefined && answer.status >= 400;
  const declared = headers.some(([name, value]) => value.test(answer?.headers[name] ?? ''));
  // DataDome names itself on the pages that it lets through as well.
  const says = declared && (refused || answer?.headers['x-datadome'] === undefined);
  return wall || says || titles.some((pattern) => pattern.test(title.trim()));
}
