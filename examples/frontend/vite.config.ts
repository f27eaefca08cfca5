import { defineConfig } from 'vite';

// The built files are committed and part of the server's program: few, with names that stay, and the same from everywhere.
export default defineConfig({
  base: './',
  build: {
    target: 'es2022',
    modulePreload: false,
    cssCodeSplit: false,
    chunkSizeWarningLimit: 1000,
    rollupOptions: {
      output: { entryFileNames: 'page.js', chunkFileNames: '[name].js', assetFileNames: 'page[extname]' },
    },
  },
  // The server compares the page's origin with the host that the browser asked for: the proxy must not change it.
  server: {
    proxy: Object.fromEntries(
      ['/api', '/agent'].map(path => [path, { target: 'http://127.0.0.1:3000', changeOrigin: false }]),
    ),
  },
});
