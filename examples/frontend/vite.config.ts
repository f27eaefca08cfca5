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
  server: { proxy: { '/api': 'http://127.0.0.1:3000', '/agent': 'http://127.0.0.1:3000' } },
});
