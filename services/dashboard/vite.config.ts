import { defineConfig } from 'vite';

/** Relative addresses, so that the dashboard works under any path that a proxy puts in front of it. */
export default defineConfig({
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  build: {
    target: 'es2023',
    // All that the first page needs is in one file; a polyfill for browsers that cannot preload modules is not worth its bytes.
    modulePreload: { polyfill: false },
    // The policy of the page allows no data: address but for images.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  // `npx vite services/dashboard` beside a front on its usual port.
  server: { proxy: { '^/(?!dashboard|@|node_modules|shell|widgets|pages|main)': 'http://127.0.0.1:3000' } },
});
