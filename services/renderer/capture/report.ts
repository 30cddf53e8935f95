import type { SoftTimeout } from '@webcapture/shared/contract/capture-result.ts';
import { isChallenge, wallSelector } from './challenge.ts';
import { htmlUrl } from './html-source.ts';
import { readPageFacts } from './in-page/page-facts.ts';
import type { OpenPage } from './open.ts';
import type { RenderReport } from './rendering.ts';

type PageReport = Pick<RenderReport, 'httpStatus' | 'finalUrl' | 'title' | 'challenge'>;

const mostTitleCharacters = 512;
const callMs = 5000;

/** What there is to tell of the page itself. */
export async function describePage({ world, document }: OpenPage): Promise<PageReport> {
  const facts = await world.callInAny(readPageFacts, [wallSelector], { ms: callMs, what: 'reading the title' });
  const { answer } = document;
  const fromHtml = answer === undefined || answer.url === htmlUrl;
  return {
    httpStatus: fromHtml ? null : answer.status,
    finalUrl: facts.url.startsWith(htmlUrl) ? 'about:blank' : facts.url,
    title: [...facts.title].slice(0, mostTitleCharacters).join(''),
    challenge: isChallenge(answer, facts.title, facts.wall),
  };
}

/** In the order in which they happened, each once. */
export function uniqueTimeouts(softTimeouts: readonly SoftTimeout[]): SoftTimeout[] {
  return [...new Set(softTimeouts)];
}
