// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import { finishAnimations } from '../../../services/renderer/page/scripts/animations.ts';
import {
  countUnseen,
  keepRevealed,
  rememberRevealed,
  revealedHelpers,
  watchLeaving,
} from '../../../services/renderer/page/scripts/revealed.ts';
import type { PageState } from '../../../services/renderer/page/scripts/state.ts';
import { cssMayUse } from '../../../services/renderer/page/scripts/styles.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';
import { countStyleReads } from '../../harness/style-reads.ts';

declare const pageState: PageState;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const helpers = [cssMayUse, finishAnimations, ...revealedHelpers];
const script = '<script></script>';

/** Remembers what a page shows, changes it, and restores it. Returns the opacity and visibility of elements with an id, by id. */
async function keep(body: string, change: () => void): Promise<Readonly<Record<string, readonly [string, string]>>> {
  await page.show(body);
  await page.call(rememberRevealed, [], helpers);
  await page.page.evaluate(change);
  await page.call(keepRevealed, [], helpers);
  return page.read(() =>
    Object.fromEntries(
      [...document.querySelectorAll('[id]')].map((each) => {
        const { opacity, visibility } = getComputedStyle(each);
        return [each.id, [opacity, visibility] as const];
      }),
    ),
  );
}

describe('keepRevealed', () => {
  test('shows what was visible and is hidden now, and nothing else', async () => {
    const seen = await keep(
      `<p id="faded">x</p><p id="hidden">x</p><p id="dim">x</p><p id="half" style="opacity:0.5">x</p>
       <p id="faint" style="opacity:0.49">x</p><p id="unseen" style="visibility:hidden">x</p>
       <p id="moved" style="transform:translateX(9px);translate:1px;scale:2">x</p>${script}`,
      () => {
        for (const each of document.querySelectorAll<HTMLElement>('[id]')) each.style.opacity = '0.04';
        for (const [id, name, value] of [
          ['hidden', 'visibility', 'hidden'],
          ['dim', 'opacity', '0.05'],
          ['moved', 'transform', 'translateX(900px)'],
        ] as const)
          (document.querySelector(`#${id}`) as HTMLElement).style.setProperty(name, value);
      },
    );
    expect(seen).toEqual({
      faded: ['1', 'visible'],
      hidden: ['1', 'visible'],
      dim: ['0.05', 'visible'],
      half: ['0.5', 'visible'],
      faint: ['0.04', 'visible'],
      unseen: ['0.04', 'hidden'],
      moved: ['1', 'visible'],
    });
    const moved = await page.read(() => {
      const { transform, translate, scale } = getComputedStyle(document.querySelector('#moved') as Element);
      return [transform, translate, scale];
    });
    expect(moved).toEqual(['matrix(1, 0, 0, 1, 9, 0)', '1px', '2']);
  });

  test('remembers the end of an animation, and stops the one that hides it again', async () => {
    const seen = await keep(
      `<p id="x">x</p><style>@keyframes in { from { opacity: 0 } } @keyframes out { to { opacity: 0 } }
         #x { animation: in 100s; transition: opacity 100s } .gone { animation: out 1ms forwards !important }</style>${script}`,
      () => {
        document.querySelector('#x')?.classList.add('gone');
        for (const animation of document.getAnimations()) animation.finish();
      },
    );
    expect(seen).toEqual({ x: ['1', 'visible'] });
  });

  test('remembers the first 5000 elements of a page with scripts', async () => {
    const hide = () => {
      for (const id of ['last', 'more']) (document.querySelector(`#${id}`) as HTMLElement).style.opacity = '0';
    };
    for (const style of ['', '<style>b { opacity: 0.9 }</style>']) {
      const fillers = '<b></b>'.repeat(style === '' ? 4998 : 4997);
      const seen = await keep(`${style}${script}${fillers}<i id="last"></i><i id="more"></i>`, hide);
      expect(seen).toEqual({ last: ['1', 'visible'], more: ['0', 'visible'] });
    }
    expect(await keep('<i id="last"></i><i id="more"></i>', hide)).toMatchObject({ last: ['0', 'visible'] });
  });

  test.each([
    ['', ['none', 'none', 'none']],
    ['transform: translateX(9px)', ['matrix(1, 0, 0, 1, 9, 0)', 'none', 'none']],
    ['translate: 9px', ['none', '9px', 'none']],
    ['scale: 2', ['none', 'none', '2']],
  ])('restores the place and size of an element with the style "%s"', async (style, places) => {
    const seen = await keep(`<p id="x">x</p><style>#x { ${style} }</style>${script}`, () => {
      const gone = 'opacity:0;visibility:hidden;transform:translateX(99px);translate:99px;scale:0.5';
      document.querySelector('#x')?.setAttribute('style', gone);
    });
    expect(seen).toEqual({ x: ['1', 'visible'] });
    const now = await page.read(() => {
      const { transform, translate, scale } = getComputedStyle(document.querySelector('#x') as Element);
      return [transform, translate, scale];
    });
    expect(now).toEqual(places);
  });

  test.each(['', 'b { opacity: 0.9 }'])('passes over elements that cannot have a style: %s', async (style) => {
    const seen = await keep(
      `<p id="x">x</p><style>${style}</style>
       <script>document.body.prepend(document.createElementNS('urn:other', 'foreign'))</script>`,
      () => document.head.insertAdjacentHTML('beforeend', '<style>foreign, #x { opacity: 0 }</style>'),
    );
    expect(seen).toEqual({ x: ['1', 'visible'] });
  });

  test('reverts attributes of elements below the viewport, except styles', async () => {
    await page.show(
      `<p id="above" class="in" style="margin:0;height:480px">x</p><p id="below" class="in" style="margin:0">x</p>`,
    );
    await page.call(watchLeaving, []);
    await page.page.evaluate(() => {
      for (const each of document.querySelectorAll<HTMLElement>('[id]')) {
        each.className = 'out';
        each.className = 'gone';
        each.title = 'new';
        each.style.color = 'red';
      }
    });
    await page.call(keepRevealed, [], helpers);
    const read = () =>
      page.read(() =>
        [...document.querySelectorAll<HTMLElement>('[id]')].map((each) => [
          each.className,
          each.hasAttribute('title'),
          each.style.color,
        ]),
      );
    const reverted = [
      ['gone', true, 'red'],
      ['in', false, 'red'],
    ];
    expect(await read()).toEqual(reverted);
    // The second call does not revert the changes of the first one.
    await page.call(keepRevealed, [], helpers);
    expect(await read()).toEqual(reverted);
  });
});

test('keepRevealed reverts changes that were not reported yet', async () => {
  await page.show(`<p style="margin:480px 0 0" id="x">x</p>`);
  const name = await page.read(() => {
    watchLeaving();
    const text = document.querySelector('#x') as Element;
    text.className = 'gone';
    keepRevealed();
    return text.className;
  }, [...helpers, watchLeaving, keepRevealed]);
  expect(name).toBe('');
});

test('reads no style in a page whose rules hide nothing', async () => {
  await page.show(`<p>text</p>${script}`);
  const reads = await page.read(() => {
    const styleReads = countStyleReads();
    rememberRevealed();
    keepRevealed();
    countUnseen();
    return styleReads();
  }, [...helpers, rememberRevealed, keepRevealed, countUnseen, countStyleReads]);
  expect(reads).toBe(0);
});

describe('countUnseen', () => {
  const unseen = (style: string, content = 'text') => `<div style="${style}">${content}</div>${script}`;

  test('counts texts and pictures that are hidden in their places', async () => {
    for (const [body, count] of [
      [unseen('opacity:0.04'), 1],
      [unseen('visibility:hidden'), 1],
      [unseen('opacity:0;width:2px;height:2px'), 1],
      [unseen('opacity:0', '<svg></svg>'), 1],
      [unseen('opacity:0', '<p style="opacity:0">text</p>'), 1],
      [unseen('opacity:0') + unseen('opacity:0'), 2],
      [`<style>body { position: absolute; width: 99px }</style>${unseen('opacity:0')}`, 1],
      [`<img style="opacity:0;width:9px;height:9px">${script}`, 1],
      [unseen('opacity:0.05'), 0],
      [unseen('opacity:0;height:9px', ' '), 0],
      [unseen('opacity:0;width:1px'), 0],
      [unseen('opacity:0;height:1px'), 0],
      [unseen('opacity:0;position:fixed'), 0],
      [`<div style="position:absolute">${unseen('opacity:0')}</div>`, 0],
      ['<p style="opacity:0">text</p>', 0],
      [`${'<b></b>'.repeat(4999)}${unseen('opacity:0')}`, 1],
      [`${'<b></b>'.repeat(5000)}${unseen('opacity:0')}`, 0],
    ] as const) {
      await page.show(body);
      const counted = await page.read(
        () => [countUnseen(), pageState.webcaptureUnseen?.length ?? 0],
        [...helpers, countUnseen],
      );
      expect(counted, body.slice(-200)).toEqual([count, count]);
    }
  });
});
