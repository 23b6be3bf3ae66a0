import { defineConfig } from 'vite';

/** The pages for people. Every address in them is relative, so that a proxy may put them below any path. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  publicDir: false,
  logLevel: 'warn',
  build: {
    outDir: '../dist/pages',
    write: false,
    target: 'es2022',
    // What would be inlined as a `data:` address needs a wider policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 8192,
    rolldownOptions: {
      input: { console: 'pages/console.html', graphiql: 'pages/graphiql.html' },
      onLog(level, log, handle) {
        // Libraries say `use client` to servers that render React; here is none.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
    },
  },
});
