import { marked } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { html } from '../harness/engine.ts';

/** Green if the style sheets match the media type and feature. */
const styled = (query: string) =>
  html(`<style>html { background: #ff0000 } @media ${query} { html { background: #00aa00 } }</style><p>text`);

const isGreen: NonNullable<HardPage['check']> = (seen) => seen.expectColor(200, 200, '#00aa00');

const pages: readonly HardPage[] = [
  {
    name: 'media print applies to images',
    site: { '/': styled('print') },
    options: { media: 'print' },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'media screen applies to paper',
    site: { '/': styled('screen') },
    options: { media: 'screen' },
    formats: ['pdf'],
    check: isGreen,
  },
  {
    name: "reducedMotion applies before the page's scripts run, together with a dark color scheme",
    site: {
      '/': html(
        `<style>html { background: #ff0000 } .calm { background: ${marked('#00aa00')} }</style>
         <script>if (matchMedia('(prefers-reduced-motion: reduce) and (prefers-color-scheme: dark)').matches) document.documentElement.className = 'calm'</script>`,
      ),
    },
    options: { reducedMotion: true, colorScheme: 'dark' },
    formats: ['png'],
    check: isGreen,
  },
];

testCorpus(pages);
