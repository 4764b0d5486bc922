import { readdirSync } from "node:fs";
import { defineConfig } from "vite";

// Every HTML file here is a page. Names carry no hashes: the server says by its tags what is new, and the built files,
// which are kept in the repository, differ only where something was changed.
const pages = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".html"));

export default defineConfig({
  base: "./",
  build: {
    outDir: "../src/polyclinic/web/static",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    target: "es2022",
    chunkSizeWarningLimit: 2000,
    rollupOptions: {
      input: pages,
      output: {
        entryFileNames: "assets/[name].js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8765" } },
});
