import { expect, test } from 'vitest';
import type { OpenPage } from '../../../services/renderer/page/open.ts';
import { takeTiles, tileHeight } from '../../../services/renderer/page/tiles.ts';
import { defaultOptions } from '../../harness/records.ts';

/** Returns the tiles of a page as `y height`, and the calls that show them. */
async function tilesOf(pageHeight: number, { height = 480, deviceScaleFactor = 1 } = {}) {
  const calls: (readonly [name: string, ...args: readonly unknown[]])[] = [];
  const call = (fn: { readonly name: string }, args: readonly unknown[]) => {
    calls.push([fn.name, ...args]);
    return Promise.resolve();
  };
  const options = { ...defaultOptions, viewport: { width: 640, height, deviceScaleFactor } };
  const tiles = await takeTiles({ world: { call } } as unknown as OpenPage, options, pageHeight, (tile) =>
    Promise.resolve(`${tile.y} ${tile.height}`),
  );
  return { tiles, calls };
}

test('takeTiles shows each tile, and says which is the last', async () => {
  const { tiles, calls } = await tilesOf(960);
  expect(tiles).toEqual(['0 480', '480 480']);
  expect(calls).toEqual([['prepareTiles'], ['showTile', 0, false, 1200], ['showTile', 480, true, 1200]]);
});

test('the first and last tile have full height', async () => {
  expect((await tilesOf(480)).tiles).toEqual(['0 480']);
  expect((await tilesOf(500)).tiles).toEqual(['0 480', '480 20']);
  expect((await tilesOf(1000)).tiles).toEqual(['0 480', '480 40', '520 480']);
  expect((await tilesOf(1500)).tiles).toEqual(['0 480', '480 480', '960 60', '1020 480']);
  expect((await tilesOf(1440)).tiles).toEqual(['0 480', '480 480', '960 480']);
});

test('tiles begin at whole device pixels', async () => {
  const options = { height: 481, deviceScaleFactor: 1.25 };
  expect(tileHeight({ ...defaultOptions.viewport, ...options })).toBe(480);
  expect(tileHeight({ ...defaultOptions.viewport, height: 480, deviceScaleFactor: 1.5 })).toBe(480);
  expect(tileHeight({ ...defaultOptions.viewport, height: 101, deviceScaleFactor: 1.15 })).toBe(100);
  expect(tileHeight({ ...defaultOptions.viewport, height: 3, deviceScaleFactor: 1.001 })).toBe(1);
  expect((await tilesOf(1000, options)).tiles).toEqual(['0 480', '480 40', '520 480']);
  // The remainder is not a whole number of device pixels, so it comes last.
  expect((await tilesOf(1001, options)).tiles).toEqual(['0 480', '480 480', '960 41']);
});
