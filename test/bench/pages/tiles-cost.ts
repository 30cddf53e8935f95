import process from 'node:process';
import { ensureTestTools } from '../../harness/tools.ts';
import { percentilesOf } from '../http-load.ts';
import { capturePage, startBenchEngine } from './engine.ts';

const rounds = 9;
const viewport = { width: 1280, height: 800, deviceScaleFactor: 1 } as const;
/** Two pages. Chromium encodes the first as a whole; the second is joined from several pictures with both strategies. */
const sectionCounts = [30, 55] as const;
const goal = 2.5;

/** Measures a page that is captured in tiles and the same page with scenes that are too narrow for tiles. The two alternate. */
export async function benchTilesCost(): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const engine = await startBenchEngine(parts, await ensureTestTools(say));
  say(
    `Tiles compared with a grown viewport: p50 of ${rounds} alternating captures each, png, ${viewport.width} x ${viewport.height}`,
  );
  for (const sections of sectionCounts) {
    const times = { grown: [] as number[], tiles: [] as number[] };
    let height = 0;
    // The first captures are slower.
    for (let round = -1; round < rounds; round += 1) {
      for (const strategy of ['grown', 'tiles'] as const) {
        const begun = performance.now();
        const html = pageOf(sections, strategy === 'tiles');
        const rendering = await capturePage(engine, { kind: 'html', html }, { isFullPage: true, viewport });
        const ms = performance.now() - begun;
        if (rendering.report.strategy !== strategy)
          throw new Error(`the strategy of the page was ${rendering.report.strategy}`);
        height = rendering.height;
        if (round >= 0) times[strategy].push(ms);
      }
    }
    const [grown, tiles] = [percentilesOf(times.grown).p50, percentilesOf(times.tiles).p50];
    const ratio = (tiles / grown).toFixed(2);
    say(`${height} px: grown ${Math.round(grown)} ms, tiles ${Math.round(tiles)} ms, ${ratio} (goal: at most ${goal})`);
  }
}

/** Returns a page with text, colored boxes, and fixed boxes that appear depending on the scroll position. They are wide if `isFilm` is set. */
function pageOf(sections: number, isFilm: boolean): string {
  const section = (index: number) =>
    `<section style="background:hsl(${index * 40} 60% 90%)"><h2>Part ${index}</h2><p>${'The quick brown fox jumps over the lazy dog. '.repeat(30)}</p></section>`;
  return `<!doctype html><title>tiles</title><style>section { box-sizing: border-box; height: 380px; padding: 20px } header { height: 100vh; background: #235 }
      aside { position: fixed; inset: 0 0 0 auto; width: ${isFilm ? 30 : 5}%; background: #9cf; display: none }</style>
    <header></header>${Array.from({ length: sections }, (_, index) => section(index)).join('')}${'<aside>scene</aside>'.repeat(4)}
    <script>const show = () => document.querySelectorAll('aside').forEach((scene, index) => { scene.style.display = Math.floor(scrollY / 1000) % 5 === index + 1 ? 'block' : 'none' });
      addEventListener('scroll', show); show();</script>`;
}
