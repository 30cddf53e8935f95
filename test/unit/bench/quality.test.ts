import sharp from 'sharp';
import { expect, test } from 'vitest';
import { measureQuality, qualityTable } from '../../bench/quality/quality.ts';
import type { QualityCase } from '../../bench/quality/quality-case.ts';
import type { Contender } from '../../bench/speed/contender.ts';
import { html } from '../../harness/test-site.ts';

const pictureOf = (background: string, height = 20) =>
  sharp({ create: { width: 10, height, channels: 3, background } })
    .png()
    .toBuffer();
const contender = (name: string, capture: Contender['capture']): Contender => ({ name, capture, processes: () => [] });

const green: QualityCase = {
  name: 'a green page',
  site: { '/': html('green') },
  check: (picture) => {
    picture.expectHeight(20);
    picture.expectColumn(5, [[10, '#00aa00']]);
  },
};
const paper: QualityCase = { name: 'a page on paper', site: { '/': html('text') }, checkPdf: (pdf) => pdf.expectA4() };

test('counts the right files of each contender, by group, and their share', async () => {
  const contenders = [
    contender('right', async ({ url }) => {
      expect(await (await fetch(url)).text()).toContain('green');
      return pictureOf('#00aa00');
    }),
    contender('wrong color', () => pictureOf('#aa0000')),
    contender('too short', () => pictureOf('#00aa00', 10)),
    contender('broken', () => Promise.reject(new Error('no file'))),
  ];
  const lines: string[] = [];
  const results = await measureQuality(contenders, { colors: [green], twice: [green, green] }, (line) =>
    lines.push(line),
  );
  expect(lines.slice(0, 4)).toEqual([
    'a green page, right: right',
    'a green page, wrong color: #aa0000 at (5, 10), not #00aa00',
    'a green page, too short: the picture is 10 px tall, not 20',
    'a green page, broken: no file',
  ]);
  expect(qualityTable(contenders, results).split('\n')).toEqual([
    '| right captures | cases | right | wrong color | too short | broken |',
    '| --- | --- | --- | --- | --- | --- |',
    '| colors | 1 | 1 | 0 | 0 | 0 |',
    '| twice | 2 | 2 | 0 | 0 | 0 |',
    '| all | 3 | 3 (100 %) | 0 (0 %) | 0 (0 %) | 0 (0 %) |',
  ]);
});

test('asks for checked files, as a PDF for a page on paper', async () => {
  const asked: unknown[] = [];
  const contenders = [
    contender('asked', ({ format, isChecked, page }) => {
      asked.push([format, isChecked, page.isFullPage]);
      return Promise.resolve(Buffer.from('no file'));
    }),
  ];
  const [result] = await measureQuality(contenders, { both: [green, paper] }, () => {});
  expect(asked).toEqual([
    ['png', true, true],
    ['pdf', true, true],
  ]);
  expect([...(result?.right.values() ?? [])]).toEqual([0]);
});
