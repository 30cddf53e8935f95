import { expect, test } from 'vitest';
import type { Capture } from '@webcapture/client';
import {
  emptyList,
  matches,
  withChanged,
  withNewest,
  withOlder,
} from '../../../services/dashboard/pages/captures/capture-list.ts';

const capture = (uuid: string, status = 'completed') =>
  ({
    uuid,
    status,
    region: 'us-east',
    metadata: { url: `https://example.com/${uuid}`, format: 'png' },
    report: { title: `Title <b>${uuid}</b>`, finalUrl: '' },
  }) as unknown as Capture;
const page = (uuids: string, nextCursor: string | null = null) => ({
  items: Array.from(uuids, (uuid) => capture(uuid)),
  nextCursor,
});
const shown = ({ items, nextCursor }: { items: readonly Capture[]; nextCursor: string | null }) =>
  `${items.map(({ uuid }) => uuid).join('')} ${nextCursor}`;

test('older pages are appended, and duplicates are shown once', () => {
  const list = withOlder(withOlder(emptyList, page('98', '8')), page('87', '7'));
  expect(shown(list)).toBe('987 7');
});

test.each([
  ['a newer capture is added at the top', page('987', '7'), page('b9', '9'), 'b987 7'],
  ['a capture that no longer matches is removed', page('987', '7'), page('97', '7'), '97 7'],
  ['captures older than the page stay', page('9876', '6'), page('a9', '8'), 'a976 6'],
  ['a gap after the newest page restarts the list', page('987', '7'), page('fed', 'd'), 'fed d'],
  ['the first capture of an empty list', emptyList, page('1'), '1 null'],
  ['all captures in one page', page('98', '8'), page('a9'), 'a9 null'],
  ['an empty page that is not the last', page('53', '3'), page('', '4'), '3 3'],
])('the newest page: %s', (_, list, newest, expected) => {
  expect(shown(withNewest(list, newest))).toBe(expected);
});

test('a changed capture replaces its entry, or is removed if it no longer matches', () => {
  const list = page('987', '7');
  expect(withChanged(list, capture('8', 'failed'), undefined).items[1]?.status).toBe('failed');
  expect(shown(withChanged(list, capture('8', 'failed'), 'completed'))).toBe('97 7');
  expect(withChanged(list, capture('5'), undefined)).toBe(list);
});

test.each([
  ['', true],
  [' EXAMPLE.com  title ', true],
  ['<b>', true],
  ['us-east png', true],
  ['example nowhere', false],
])('the search %j', (search, expected) => {
  expect(matches(capture('7'), search)).toBe(expected);
});

test('a search for the ID of a batch finds its captures', () => {
  expect(matches({ ...capture('7'), batch: '01a2' } as Capture, '01A2')).toBe(true);
});
