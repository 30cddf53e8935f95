import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { OpenPage } from './open.ts';
import { finishAnimations } from './scripts/animations.ts';
import { prepareTiles, showTile } from './scripts/tiles.ts';

/** A page of more tiles than these is taken as it has grown: it would take too long. */
export const maxTiles = 120;
/** For what moves at one place. */
const restMs = 1200;
/** For what moves at all places together. */
const restBudgetMs = 8000;
const callTimeoutMs = 5000;

/** One place of a page, in CSS pixels. */
export interface Tile {
  readonly y: number;
  readonly height: number;
}

/**
 * Shows a page place by place, in the viewport that was asked for, and has each taken.
 *
 * @param take takes the picture of a tile that is in sight
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

/** The first and the last one are whole, as a person sees them: what is left over is the last but one, where there are three. */
function tilesOf(height: number, step: number, scale: number): Tile[] {
  const count = Math.ceil(height / step);
  const rest = height - (count - 1) * step;
  // A tile has to begin with a whole pixel, or there is a seam.
  const short = count > 2 && isWhole(rest * scale) ? count - 2 : count - 1;
  return Array.from({ length: count }, (_, index) => ({
    y: index * step - (index > short ? step - rest : 0),
    height: index === short ? rest : step,
  }));
}

/** As tall as the viewport, but a whole number of device pixels, for scales of up to two decimals: tiles then have no seam. */
export function tileHeight({ height, deviceScaleFactor }: RenderOptions['viewport']): number {
  let step = height;
  while (step > 1 && !isWhole(step * deviceScaleFactor)) step -= 1;
  return step;
}

function isWhole(pixels: number): boolean {
  return Math.abs(pixels - Math.round(pixels)) < 1e-6;
}
