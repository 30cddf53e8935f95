import { defineConfig } from 'vite';

/** Relative addresses, so that the dashboard works under any path that a proxy adds. */
export default defineConfig({
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  build: {
    target: 'es2023',
    // One file contains all code of the first page; a polyfill for browsers without module preload is not worth its bytes.
    modulePreload: { polyfill: false },
    // The policy of the page allows data: addresses only for images.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  // `npx vite services/dashboard`, with a front on its usual port: edits appear immediately.
  server: {
    proxy: {
      '^/(capture|captures|keys|usage|webhooks|events|admin|devices|files|status|docs|openapi\\.json)([/?]|$)':
        'http://127.0.0.1:3000',
    },
  },
});
