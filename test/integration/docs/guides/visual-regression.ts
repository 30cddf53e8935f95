import { expect } from 'vitest';
import { parse } from 'yaml';
import { type Guide, pictureOf, servePages } from './guide.ts';
import { blocksOf } from './workplace.ts';

interface Workflow {
  readonly jobs: {
    readonly visual: { readonly env: object; readonly steps: readonly { readonly run?: string }[] };
  };
}

/** The background of the page of prices, which the check changes. */
let pricesColor: string;

const equal = /The pictures are equal: 0 of \d+ pixels; 0\.1% allowed\.\n/.source;

export const visualRegression: Guide = {
  name: 'visual-regression',
  promise: 'reports that an unchanged site is equal, and which page of a changed one differs',
  site: () => {
    pricesColor = '#3366cc';
    return servePages({
      // Without freeze, each capture of this page is different.
      '/': () => '<h1>Home</h1><p id="now"><script>now.textContent = `${Date.now()} ${Math.random()}`</script>',
      '/pricing': () => `<body style="background: ${pricesColor}"><h1>Prices</h1>`,
    });
  },
  notRun: { yaml: 'a workflow of GitHub Actions, whose commands are compared with those of the docs' },
  async check({ place, blocks, outputs, others }) {
    expect(outputs[2]).toMatch(new RegExp(`home\\.png\n${equal}pricing\\.png\n${equal}$`));

    const [variables, , , approve] = blocks.map(({ code }) => code);
    const compare = () => place.exitOf(`${variables}\nbash visual.sh`);
    pricesColor = '#cc3366';
    const changed = await compare();
    expect(changed.code).toBe(1);
    expect(changed.stdout).toMatch(new RegExp(`home\\.png\n${equal}pricing\\.png\n[\\d.]+% differ: `));
    expect((await pictureOf(place, 'difference/pricing.png')).share('#ff0000')).toBeGreaterThan(0.5);
    await place.sh(approve ?? '');
    expect((await compare()).code).toBe(0);

    const { env, steps } = (parse(others[0]?.code ?? '') as Workflow).jobs.visual;
    expect(Object.keys(env)).toEqual(['WEBCAPTURE_URL', 'WEBCAPTURE_API_KEY']);
    const [install] = await blocksOf('cli.md');
    expect(steps.flatMap(({ run }) => run ?? [])).toEqual([install?.code, 'bash visual.sh']);
  },
};
