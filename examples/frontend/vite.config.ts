import { defineConfig } from 'vite';

// The built files are committed, and compiled into the server's program: few files, with fixed names and relative links.
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
  // The server compares the page's origin with the request's host, so the proxy must not change the host.
  server: {
    proxy: Object.fromEntries(
      ['/api', '/agent'].map(path => [path, { target: 'http://127.0.0.1:3000', changeOrigin: false }]),
    ),
  },
});
