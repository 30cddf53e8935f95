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
  // `npx vite services/dashboard`, beside a front on its usual port: each edit is there at once.
  server: {
    proxy: {
      '^/(capture|captures|keys|usage|webhooks|events|admin|devices|files|status|docs|openapi\\.json)([/?]|$)':
        'http://127.0.0.1:3000',
    },
  },
});
