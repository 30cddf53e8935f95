import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { DocumentGoneError } from '../browser/isolated-world.ts';
import { callTimeoutMs } from './deadline.ts';
import type { OpenPage } from './open.ts';
import { boxing } from './scripts/boxes.ts';
import { describeSearch, type Search } from './scripts/finding.ts';
import { selecting } from './scripts/selecting.ts';

/**
 * Describes where a selector was searched for in vain, and names a frame in which it would match.
 *
 * @returns an empty text if the page does not respond
 */
export async function explainMiss({ world }: OpenPage, selector: string): Promise<string> {
  const parts = parseSelector(selector);
  const limit = { timeoutMs: callTimeoutMs, what: 'the search' };
  try {
    const search = await world.call(describeSearch, [parts], limit, [...selecting, ...boxing]);
    return sentencesOf(
      parts.map(({ css }) => css),
      search,
    ).join(' ');
  } catch (error) {
    if (error instanceof DeadlineError || error instanceof DocumentGoneError) return '';
    throw error;
  }
}

const count = (number: number, noun: string) => `${number === 0 ? 'no' : number} ${noun}${number === 1 ? '' : 's'}`;

/** @param parts the CSS of each part of the selector */
export function sentencesOf(parts: readonly string[], search: Search): readonly string[] {
  if (search.kind !== 'elements') {
    const name = JSON.stringify(parts.slice(0, search.part + 1).join(' >> '));
    switch (search.kind) {
      case 'none':
        return [`No frame matches ${name}.`];
      case 'noFrame':
        return [`${name} matches an element that is not a frame: only a frame can precede ">>".`];
      case 'unreadable':
        return [
          `The frame that matches ${name} cannot be searched: it has another origin than the page, is sandboxed, or did not load.`,
        ];
    }
  }
  const { matches, documents, shadowRoots, frames, inFrame } = search;
  const where = parts.length === 1 ? 'the document' : count(documents, 'frame');
  const unsearched =
    frames === 0 ? '' : `, but not the ${count(frames, 'frame')} in ${documents === 1 ? 'it' : 'them'}`;
  const sentences = [`The search covered ${where} and ${count(shadowRoots, 'open shadow root')}${unsearched}.`];
  if (matches > 0)
    sentences.push(`${count(matches, 'element')} that match${matches === 1 ? 'es' : ''} cannot be seen.`);
  if (inFrame !== null) {
    const hint = [...parts.slice(0, -1), ...inFrame, ...parts.slice(-1)].join(' >> ');
    sentences.push(`An element in a frame matches: try ${JSON.stringify(hint)}.`);
  }
  return sentences;
}

/** Returns the error for a selector that our parser accepts and the browser does not. */
export function refusedSelector(name: string): ServiceError {
  return new ServiceError('CAPTURE_FAILED', `${name} is not a selector that the browser supports.`, {
    causedBy: 'client',
  });
}
