import { expect, test } from 'vitest';
import { sentencesOf } from '../../../services/renderer/page/miss.ts';
import type { Search } from '../../../services/renderer/page/scripts/finding.ts';

const nothing = { kind: 'elements', matches: 0, documents: 1, shadowRoots: 0, frames: 0, inFrame: null } as const;

test.each<[parts: string[], search: Search, sentences: string]>([
  [['p'], nothing, 'The search covered the document and no open shadow roots.'],
  [
    ['p'],
    { ...nothing, shadowRoots: 2, frames: 3, inFrame: ['#a', 'iframe'] },
    'The search covered the document and 2 open shadow roots, but not the 3 frames in it. An element in a frame matches: try "#a >> iframe >> p".',
  ],
  [
    ['iframe', 'p'],
    { ...nothing, documents: 2, shadowRoots: 1, frames: 1, inFrame: ['object'] },
    'The search covered 2 frames and 1 open shadow root, but not the 1 frame in them. An element in a frame matches: try "iframe >> object >> p".',
  ],
  [
    ['p'],
    { ...nothing, matches: 1 },
    'The search covered the document and no open shadow roots. 1 element that matches cannot be seen.',
  ],
  [
    ['p'],
    { ...nothing, matches: 2 },
    'The search covered the document and no open shadow roots. 2 elements that match cannot be seen.',
  ],
  [['#a', '#b', 'p'], { kind: 'none', part: 1 }, 'No frame matches "#a >> #b".'],
  [
    ['.a', 'p'],
    { kind: 'noFrame', part: 0 },
    '".a" matches an element that is not a frame: only a frame can precede ">>".',
  ],
  [
    ['#a', 'p'],
    { kind: 'unreadable', part: 0 },
    'The frame that matches "#a" cannot be searched: it has another origin than the page, is sandboxed, or did not load.',
  ],
])('the message for the selector %j and the search %j is: %s', (parts, search, sentences) => {
  expect(sentencesOf(parts, search).join(' ')).toBe(sentences);
});
