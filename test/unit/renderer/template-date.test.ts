import { expect, test } from 'vitest';
import { withLocalDates } from '../../../services/renderer/page/template-date.ts';
import { defaultOptions } from '../../harness/records.ts';

const now = new Date('2026-03-04T23:30:00Z');
const written = (footerTemplate: string, locale = 'en-GB', timezone = 'UTC') =>
  withLocalDates({ ...defaultOptions.pdf, footerTemplate }, { locale, timezone, now }).footerTemplate;

const date = '04/03/2026, 23:30';

test.each([
  ['<i class="date"></i>', `<i class="webcapture-date">${date}</i>`],
  ["<i class='a date b'>x</i>", `<i class='a webcapture-date b'>${date}</i>`],
  ['<i class=date></i>', `<i class="webcapture-date">${date}</i>`],
  ['<i CLASS = "date"></i>', `<i CLASS = "webcapture-date">${date}</i>`],
  [
    '<i title="a > b" lang=\'x\' class="date" id="y>"></i>',
    `<i title="a > b" lang='x' class="webcapture-date" id="y>">${date}</i>`,
  ],
  [
    '<i class="date"></i><b class="date"></b>',
    `<i class="webcapture-date">${date}</i><b class="webcapture-date">${date}</b>`,
  ],
  [
    '<i class="dates"></i><i class="a"></i><i data-class="date"></i>',
    '<i class="dates"></i><i class="a"></i><i data-class="date"></i>',
  ],
  ['<i class=""></i> date', '<i class=""></i> date'],
  [
    '<style>.date { a } .dates { b } .date-x { c } i.date, .date:hover {}</style>',
    '<style>.webcapture-date { a } .dates { b } .date-x { c } i.webcapture-date, .webcapture-date:hover {}</style>',
  ],
  ['<STYLE media="print">.date {}</STYLE>.date', '<STYLE media="print">.webcapture-date {}</STYLE>.date'],
  ['<styled>.date', '<styled>.date'],
])('withLocalDates writes %s as %s', (template, expected) => {
  expect(written(template)).toBe(expected);
});

test('withLocalDates uses the language and the time zone, and fills only templates that exist', () => {
  expect(written('<i class="date"></i>', 'de-DE', 'Europe/Berlin')).toBe(
    '<i class="webcapture-date">05.03.26, 00:30</i>',
  );
  const { headerTemplate: _, footerTemplate: __, ...pdf } = defaultOptions.pdf;
  const format = { locale: 'en-GB', timezone: 'UTC', now };
  expect(withLocalDates(pdf, format)).toEqual(pdf);
  expect(withLocalDates({ ...pdf, headerTemplate: '<i class="date"></i>' }, format)).toEqual({
    ...pdf,
    headerTemplate: `<i class="webcapture-date">${date}</i>`,
  });
});
