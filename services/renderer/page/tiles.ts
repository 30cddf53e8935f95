import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { callTimeoutMs } from './deadline.ts';
import type { OpenPage } from './open.ts';
import { finishAnimations } from './scripts/animations.ts';
import { prepareTiles, showTile } from './scripts/tiles.ts';

/** Maximum number of tiles. A page with more is captured in one tall layout, because tiles would take too long. */
export const maxTiles = 120;
/** Time limit of the wait for animations at one scroll position. */
const restMs = 1200;
/** Time limit of the wait for animations at all scroll positions together. */
const restBudgetMs = 8000;

/** A section of the page, in CSS pixels. */
export interface Tile {
  readonly y: number;
  readonly height: number;
}

/**
 * Scrolls through the page in the requested viewport and takes one picture per tile.
 *
 * @param take takes the picture of the tile that is in view
 */
export async function takeTiles<T>(
  { world }: OpenPage,
  { viewport }: RenderOptions,
  height: number,
  take: (tile: Tile) => Promise<T>,
): Promise<T[]> {
  const limit = { timeoutMs: callTimeoutMs, what: 'a tile' };
  await world.call(prepareTiles, [], limit);
  const places = tilesOf(height, tileHeight(viewport), viewport.deviceScaleFactor);
  const end = performance.now() + restBudgetMs;
  const taken: T[] = [];
  for (const tile of places) {
    const rest = Math.max(0, Math.min(restMs, end - performance.now()));
    await world.call(showTile, [tile.y, tile === places.at(-1), rest], limit, [finishAnimations]);
    taken.push(await take(tile));
  }
  return taken;
}

/**
 * The first and last tile have full height, as a visitor sees them. If there are at least three tiles, the last but one takes the
 * remainder.
 */
function tilesOf(height: number, step: number, scale: number): Tile[] {
  const count = Math.ceil(height / step);
  const rest = height - (count - 1) * step;
  // A tile must start at a whole device pixel. Otherwise a seam is visible.
  const short = count > 2 && isWhole(rest * scale) ? count - 2 : count - 1;
  return Array.from({ length: count }, (_, index) => ({
    y: index * step - (index > short ? step - rest : 0),
    height: index === short ? rest : step,
  }));
}

/**
 * Returns the viewport's height, rounded down so that tiles have no seams: to a whole number of device pixels, for scales of up to two
 * decimals.
 */
export function tileHeight({ height, deviceScaleFactor }: RenderOptions['viewport']): number {
  let step = height;
  while (step > 1 && !isWhole(step * deviceScaleFactor)) step -= 1;
  return step;
}

function isWhole(pixels: number): boolean {
  return Math.abs(pixels - Math.round(pixels)) < 1e-6;
}
