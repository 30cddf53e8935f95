import { html } from '../harness/engine.ts';
import { marked } from './answers.ts';
import type { HardPage } from './corpus.ts';

export const green = '#00aa00';
const image = 'data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==';

/** A green page with one image that then attacks the browser. */
export const hostilePage = (name: string, script: string, more: Partial<HardPage> = {}): HardPage => ({
  check: (seen) => seen.expectColor(300, 300, green),
  ...more,
  name,
  isHostile: true,
  formats: ['png'],
  options: { timeout: 10_000, ...more.options },
  site: {
    '/': html(`<img src="${image}"><script>document.body.style.background = '${marked(green)}'; ${script}</script>`),
    ...more.site,
  },
});
