import { expect } from 'vitest';
import { freePort } from '../../../harness/free-port.ts';
import { type Guide, pictureOf, servePages } from './guide.ts';

const port = await freePort();

export const pageChanges: Guide = {
  name: 'page-changes',
  promise: 'reports a page that has changed, with a picture of the difference',
  env: { PORT: String(port), HOOK: `http://127.0.0.1:${port}/hook` },
  site: () => {
    let visits = 0;
    const pricing = () => {
      visits += 1;
      return `<h1>Prices</h1><p style="font-size: 200px; margin: 0">${visits === 1 ? '10 EUR' : '12 EUR'}</p><p class="clock">${visits}</p>`;
    };
    return servePages({ '/pricing': pricing });
  },
  notRun: { '': 'the variables of the test name another port' },
  async check({ place, outputs, others, tokens }) {
    expect(outputs.at(-2)).toMatch(/^capture\.completed\ncapture\.changed: 0\.\d\d% of the picture\n$/);
    const difference = await pictureOf(place, 'difference.png');
    expect(difference).toMatchObject({ format: 'png', width: 1280, height: 720 });
    expect(difference.share('#d60050')).toBeGreaterThan(0.001);
    expect(await tokens()).toBe(2);
    expect(others.map(({ code }) => code)).toEqual(['export PORT=8080 HOOK=http://127.0.0.1:8080/hook\n']);
  },
};
