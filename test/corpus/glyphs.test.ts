import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import type { Picture } from '../harness/picture.ts';
import { testCorpus, type HardPage } from './corpus.ts';

/** For each script, letters whose shapes differ from one another. */
const scripts: Readonly<Record<string, string>> = {
  Latin: 'Aéßłő',
  Greek: 'ΩψξΔθ',
  Cyrillic: 'ЖщЯёҚ',
  Chinese: '中国语学问',
  'Chinese, traditional': '繁體語學問',
  Japanese: 'あアー漢ん',
  Korean: '한국어말글',
  Arabic: 'عشقمه',
  Hebrew: 'אבשלם',
  Devanagari: 'अकखगम',
  Bengali: 'অকখগম',
  Gurmukhi: 'ਅਕਖਗਮ',
  Gujarati: 'અકખગમ',
  Tamil: 'அகஙசம',
  Telugu: 'అకఖగమ',
  Kannada: 'ಅಕಖಗಮ',
  Malayalam: 'അകഖഗമ',
  Sinhala: 'අකඛගම',
  Thai: 'กขฉมอ',
  Lao: 'ກຂຈມອ',
  Khmer: 'កខគមអ',
  Burmese: 'ကခဂမအ',
  Georgian: 'აბგდე',
  Armenian: 'ԱԲԳԴԵ',
  Ethiopic: 'ሀለሐመሠ',
  Symbols: '→∑√☃♞',
  Emoji: '😀🚀🌍❤🐙',
};
const side = 50;
/** No font has this character, so the fallback glyph is drawn. */
const nothing = '\u{10fffd}';

const cell = (letter: string, attributes = '') => `<b ${attributes}>${letter}</b>`;
const style = `<style>b { position: relative; float: left; width: ${side}px; height: ${side}px; overflow: hidden; font: 30px/${side}px sans-serif; text-align: center } br { clear: both }</style>`;
const rows = Object.values(scripts).map(
  (letters) => [...letters].map((letter) => cell(letter)).join('') + cell(nothing),
);

/** The pixels of one cell, as text. */
function pixelsOf(picture: Picture, column: number, row: number): string {
  const pixels = Array.from({ length: side * side }, (_, index) =>
    picture.at(column * side + (index % side), row * side + Math.floor(index / side)),
  );
  return pixels.join('');
}

const drawnAlike = (picture: Picture, a: readonly [number, number], b: readonly [number, number]) =>
  pixelsOf(picture, ...a) === pixelsOf(picture, ...b);

const pages: readonly HardPage[] = [
  {
    name: 'letters of 25 scripts, symbols and emoji are drawn, each differently',
    site: { '/': html(rows.join('<br>'), style) },
    options: { viewport: { width: side * 6, height: side * rows.length } },
    formats: ['png'],
    check: ({ picture }) => {
      Object.entries(scripts).forEach(([script, letters], row) => {
        const drawn = [...letters].map((_, column) => pixelsOf(picture, column, row));
        const missing = pixelsOf(picture, [...letters].length, row);
        const blank = drawn[0]?.slice(0, 7).repeat(side * side);
        expect(
          drawn.filter((pixels) => pixels === missing || pixels === blank),
          `${script}: not drawn`,
        ).toEqual([]);
        expect(new Set(drawn).size, `${script}: different letters`).toBe(drawn.length);
      });
    },
  },
  {
    name: 'emoji are in color; sequences of people, flags and skin tones are one glyph',
    site: {
      '/': html(
        // The phoenix belongs to Emoji 15.1, the version that the docs name.
        ['😀', '👩‍🚀', '🇫🇷', '👍🏽', '❤️', '1️⃣', '🐦‍🔥'].map((sign) => cell(sign)).join(''),
        `${style}<style>b { width: 100px }</style>`,
      ),
    },
    options: { viewport: { width: 700, height: side } },
    formats: ['png', 'pdf'],
    check: ({ picture }) => {
      for (let sign = 0; sign < 7; sign++) {
        const colored = columns(sign * 100, 100).filter((x) => isColored(picture, x));
        expect(colored.length, `sign ${sign}`).toBeGreaterThan(10);
        // If the sequence were drawn as several glyphs in a row, it would be wider.
        expect((colored.at(-1) ?? 0) - (colored[0] ?? 0), `sign ${sign}`).toBeLessThan(46);
      }
    },
  },
  {
    name: 'Arabic is joined, Devanagari and Tamil are composed, in the correct order',
    site: {
      '/': html(
        // Next to each sequence, its letters are drawn separately.
        [
          ['سلام', 'س‌ل‌ا‌م'],
          ['क्षत्रि', 'क‌्‌ष‌त‌र‌ि'],
          ['கொடு', 'க‌ொ‌ட‌ு'],
        ]
          .flat()
          .map((word) => cell(word))
          .join(''),
        `${style}<style>b { width: 150px }</style>`,
      ),
    },
    options: { viewport: { width: 900, height: side } },
    formats: ['png'],
    check: ({ picture }) => {
      const widths = Array.from({ length: 6 }, (_, index) => inkWidth(picture, index * 150, 150));
      // When letters are joined and composed, words are narrower than their separate letters.
      for (const index of [0, 2]) expect(widths[index]).toBeLessThan((widths[index + 1] ?? 0) - 2);
      for (const width of widths) expect(width).toBeGreaterThan(10);
    },
  },
  {
    name: 'the language selects Chinese or Japanese forms of a character',
    site: {
      '/': html(['zh-CN', 'zh-TW', 'ja', 'ko'].map((language) => cell('直', `lang="${language}"`)).join(''), style),
    },
    options: { viewport: { width: side * 4, height: side } },
    formats: ['png'],
    check: ({ picture }) => expect(drawnAlike(picture, [0, 0], [2, 0])).toBe(false),
  },
  {
    name: 'bold, italic, serif and monospace differ, also in Chinese',
    site: {
      '/': html(
        ['', 'font-weight:700', 'font-family:serif', 'font-style:italic']
          .map((look) => cell('语', `style="font-weight:400;${look}"`))
          .join('') +
          ['', 'font-weight:700', 'font-family:serif', 'font-family:monospace']
            .map((look) => cell('g', `style="font-weight:400;${look}"`))
            .join(''),
        style,
      ),
    },
    options: { viewport: { width: side * 8, height: side } },
    formats: ['png'],
    check: ({ picture }) => {
      const different = (columns: number[]) => new Set(columns.map((column) => pixelsOf(picture, column, 0))).size;
      expect(different([0, 1, 3])).toBe(3);
      expect(different([4, 5, 6, 7])).toBe(4);
    },
  },
  {
    name: 'a document from right to left starts at the right',
    site: {
      '/': '<!doctype html><html dir="rtl" lang="ar"><body style="margin:0;font:40px/50px sans-serif">مرحبا <i style="float:left;width:50px;height:50px;background:#00aa00"></i>',
    },
    formats: ['png'],
    check: (seen) => {
      seen.expectColor(25, 25, '#00aa00');
      const ink = columns(60, 580).filter((x) => hasInk(seen.picture, x));
      expect(ink[0]).toBeGreaterThan(450);
      expect(ink.at(-1)).toBeGreaterThan(625);
    },
  },
  {
    name: 'Chinese in columns, from the right',
    site: {
      '/': '<!doctype html><meta charset="utf-8"><body style="margin:0;writing-mode:vertical-rl;font:40px/50px sans-serif">中文网页',
    },
    formats: ['png'],
    check: ({ picture }) => {
      expect(columns(0, 590).filter((x) => hasInk(picture, x))).toEqual([]);
      expect(columns(590, 50).filter((x) => hasInk(picture, x)).length).toBeGreaterThan(30);
    },
  },
];

function columns(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}

function hasInk(picture: Picture, x: number): boolean {
  return Array.from({ length: 200 }, (_, y) => y).some(
    (y) => y < picture.height && picture.difference(x, y, '#ffffff') > 60,
  );
}

function isColored(picture: Picture, x: number): boolean {
  return Array.from({ length: side }, (_, y) => Number.parseInt(picture.at(x, y).slice(1), 16)).some((value) => {
    const channels = [value >> 16, (value >> 8) & 255, value & 255];
    return Math.max(...channels) - Math.min(...channels) > 60;
  });
}

/** Returns the distance from the first column with ink to the last one. */
function inkWidth(picture: Picture, from: number, count: number): number {
  const ink = columns(from, count).filter((x) => hasInk(picture, x));
  return (ink.at(-1) ?? 0) - (ink[0] ?? 0);
}

testCorpus(pages);
