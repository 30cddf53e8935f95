import { expect, test } from 'vitest';
import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { assertRoom, pdfOptions } from '../../../services/front/capture/pdf-rules.ts';

type Margin = NonNullable<CaptureRequest['pdf']>['margin'];

const all = (mm: number) => ({ top: mm, right: mm, bottom: mm, left: mm });
const request = (margin: Margin) =>
  ({ paper: 'Letter', landscape: true, margin, printBackground: false, scale: 0.5 }) as const;

test('every PDF option has a default', () => {
  expect(pdfOptions()).toEqual({ paper: 'A4', landscape: false, margin: all(10), printBackground: true, scale: 1 });
});

test('options of the request are kept', () => {
  expect(pdfOptions(request(0))).toEqual({
    paper: 'Letter',
    landscape: true,
    margin: all(0),
    printBackground: false,
    scale: 0.5,
  });
});

test.each<[Margin, number]>([
  [12.5, 12.5],
  ['12.5mm', 12.5],
  ['1 cm', 10],
  ['1in', 25.4],
  ['96px', 25.4],
  ['10px', 2.6458],
  [1000, 1000],
  ['100cm', 1000],
])('a margin of %j is %d mm', (margin, mm) => {
  expect(pdfOptions(request(margin)).margin).toEqual(all(mm));
});

test('a side without a margin has the default', () => {
  expect(pdfOptions(request({ top: '2cm', left: 0 })).margin).toEqual({ top: 20, right: 10, bottom: 10, left: 0 });
});

test.each([
  [{ width: 62, height: '100mm' }, { paper: { width: 62, height: 100 } }],
  [{ width: '5in', height: '19200px' }, { paper: { width: 127, height: 5080 } }],
  [{ preferCssPageSize: true }, { preferCssPageSize: true }],
  [{ pageRanges: ' 1 , 3-5,8- ' }, { pageRanges: '1,3-5,8-' }],
  [{ headerTemplate: 'a', footerTemplate: '' }, { headerTemplate: 'a' }],
  [{ outline: true }, { outline: true }],
  [{ fixed: 'repeat' }, { fixed: 'repeat' }],
  [{ fixed: 'once' }, {}],
  [{ tagged: false }, { tagged: false }],
  [{ preferCssPageSize: false, outline: false, tagged: true, headerTemplate: '' }, {}],
] as const)('%j becomes %j and sets no other option', (asked, changes) => {
  const { paper: _, ...rest } = request(10);
  expect(pdfOptions({ ...rest, ...asked })).toStrictEqual({ ...pdfOptions({ ...rest }), ...changes });
});

test('fixed elements of supplied HTML are on every page by default', () => {
  const { paper: _, ...rest } = request(10);
  expect(pdfOptions({ ...rest, fixed: 'repeat' }, true)).toStrictEqual(pdfOptions(rest));
  expect(pdfOptions({ ...rest, fixed: 'once' }, true)).toStrictEqual({ ...pdfOptions(rest), fixed: 'once' });
});

test('margins of the page keep the default for pages without a rule', () => {
  expect(pdfOptions(request('css'))).toMatchObject({ margin: all(10), hasCssMargin: true });
});

test.each<Margin>(['101cm', '9999in', { bottom: '1000.1mm' }])('the margin %j is too large', (margin) => {
  expect(() => pdfOptions(request(margin))).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
});

test.each([
  ['A4', false, 104.9, null, true],
  ['A4', false, 105, null, false],
  ['A6', true, 52.4, null, true],
  ['A6', true, 52.5, null, false],
  ['A6', false, 100, 1280, true],
  ['A4', false, 10, 75, false],
  [{ width: 62, height: 40 }, false, 19.9, null, true],
  [{ width: 62, height: 40 }, false, 20, null, false],
] as const)(
  'format %j, landscape %s, margin %d mm, single page of %s px: the margins leave room for content: %s',
  (paper, landscape, mm, px, room) => {
    const margin = { top: mm, right: mm, bottom: mm, left: mm };
    const check = () => assertRoom({ paper, landscape, margin, printBackground: true, scale: 1 }, px);
    if (room) expect(check).not.toThrow();
    else expect(check).toThrow(/pdf\.margin leaves no room/);
  },
);
