import { defineConfig } from 'vite';

/** Addresses are relative, so that the dashboard works under any path that a proxy adds. */
export default defineConfig({
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  build: {
    target: 'es2023',
    // The polyfill for browsers without module preload is omitted, because one file contains all code of the first page.
    modulePreload: { polyfill: false },
    // No assets are inlined, because the policy of the page allows data: addresses only for images.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  // For `npx vite services/dashboard`, with a front on its usual port. Edits appear immediately.
  server: {
    proxy: {
      '^/(capture|captures|batches|sessions|keys|usage|webhooks|events|admin|devices|files|status|docs|openapi\\.json)([/?]|$)':
        'http://127.0.0.1:3000',
    },
  },
});
