import { defineConfig } from "vite";

// The page of results by itself, as one script of the old kind: a copy of the results is opened from disk, where a browser
// loads no modules. The pages of `vite.config.js` are built before it.
export default defineConfig({
  publicDir: false,
  build: {
    outDir: "../src/polyclinic/web/static",
    emptyOutDir: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    target: "es2022",
    rollupOptions: {
      input: "src/browse/main.ts",
      output: { format: "iife", entryFileNames: "assets/browse.js", assetFileNames: "assets/browse[extname]" },
    },
  },
});
