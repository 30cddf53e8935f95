import type { CaptureReport, SoftTimeout } from '@webcapture/shared/api/capture.ts';
import { lastCallTimeoutMs } from './deadline.ts';
import type { DocumentAnswer } from './main-document.ts';
import { htmlUrl } from '../html-url.ts';
import type { OpenPage } from './open.ts';
import { readPageFacts } from './scripts/measures.ts';

/** The part of the report that the rendering provides. Queueing and storing add their parts. */
export type RenderReport = Omit<CaptureReport, 'timings'> & {
  readonly timings: Required<Pick<CaptureReport['timings'], 'openMs' | 'navigateMs' | 'settleMs' | 'shootMs'>>;
};

type PageReport = Pick<RenderReport, 'httpStatus' | 'responseUrl' | 'finalUrl' | 'title' | 'challenge'>;

const maxTitleCharacters = 512;

/** Returns the part of the report that the page itself determines: status, address, title and challenge. */
export async function describePage({ world, document }: OpenPage): Promise<PageReport> {
  const facts = await world.callInAny(readPageFacts, [wallSelector], {
    timeoutMs: lastCallTimeoutMs,
    what: 'reading the title',
  });
  const { answer, firstAnswer } = document;
  const fromHtml = answer === undefined || answer.url === htmlUrl;
  return {
    httpStatus: fromHtml ? null : answer.status,
    responseUrl:
      firstAnswer === undefined || firstAnswer.url.startsWith(htmlUrl) ? null : withoutLogin(firstAnswer.url),
    finalUrl: facts.url.startsWith(htmlUrl) ? 'about:blank' : facts.url,
    title: [...facts.title].slice(0, maxTitleCharacters).join(''),
    challenge: isChallenge(answer, facts.title, facts.wall),
  };
}

/** Removes the user name and the password, because the address of a page contains neither. */
function withoutLogin(address: string): string {
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url.href;
}

/** Removes duplicates. Keeps the order in which the timeouts occurred. */
export function uniqueTimeouts(softTimeouts: readonly SoftTimeout[]): SoftTimeout[] {
  return [...new Set(softTimeouts)];
}

/** Elements that only bot walls contain. */
const wallSelector = [
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

const wallTitles = [
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

/** Response headers that declare a bot wall. */
const wallHeaders: readonly (readonly [name: string, value: RegExp])[] = [
  ['cf-mitigated', /challenge/],
  ['x-vercel-mitigated', /challenge/],
  ['x-amzn-waf-action', /challenge|captcha/],
  ['x-datadome', /protected/],
];

/**
 * Whether a bot wall is shown instead of the requested page.
 *
 * @param wall whether elements of {@link wallSelector} exist
 */
export function isChallenge(answer: DocumentAnswer | undefined, title: string, wall: boolean): boolean {
  const refused = answer !== undefined && answer.status >= 400;
  const declared = wallHeaders.some(([name, value]) => value.test(answer?.headers[name] ?? ''));
  // DataDome also sets its header on pages that are not blocked.
  const says = declared && (refused || answer?.headers['x-datadome'] === undefined);
  return wall || says || wallTitles.some((pattern) => pattern.test(title.trim()));
}
