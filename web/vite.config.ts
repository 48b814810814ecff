// Two builds of one source: the page's script (dist/assets) and the renderer that writes the pages (generated/server).
import { defineConfig } from 'vite';

export default defineConfig(({ isSsrBuild }) => ({
  base: './',
  logLevel: 'warn',
  build: isSsrBuild
    ? { outDir: 'generated/server', emptyOutDir: true, target: 'node20' }
    : {
        outDir: 'dist',
        manifest: 'manifest.json',
        modulePreload: { polyfill: false },
        assetsInlineLimit: 0,
        target: 'es2022',
        rollupOptions: { input: { client: 'src/client.tsx', theme: 'src/theme.ts' } },
      },
}));
