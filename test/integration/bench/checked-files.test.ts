// @module-tag long
import { expect, inject, test } from 'vitest';
import { measureQuality } from '../../bench/quality/quality.ts';
import { pictureCases } from '../../bench/quality/picture-cases.ts';
import { paperCases } from '../../bench/quality/paper-cases.ts';
import { startScriptContender } from '../../bench/speed/script-contender.ts';
import { TestSite, html } from '../../harness/engine.ts';

test('a script returns its files only if they are checked, and a careful one scrolls through the page', async () => {
  await using parts = new AsyncDisposableStack();
  const { headlessShell } = inject('tools');
  const start = (kind: 'script' | 'careful') => startScriptContender(parts, { kind, headlessShell, spares: 0 });
  const [script, careful] = [await start('script'), await start('careful')];

  const site = await TestSite.start({ '/': html('text') });
  parts.defer(() => site.close());
  const task = { page: { name: 'a page', path: '/', isFullPage: true }, url: site.url(), format: 'png' } as const;
  expect(await script.capture(task)).toEqual(Buffer.alloc(0));

  const lazy = pictureCases['content that loads or appears on scrolling']?.slice(1, 2) ?? [];
  const backgrounds = paperCases.slice(0, 1);
  const results = await measureQuality([script, careful], { lazy, backgrounds }, () => {});
  expect(results.map(({ right }) => [right.get(script), right.get(careful)])).toEqual([
    [0, 1],
    [1, 1],
  ]);
}, 60_000);
