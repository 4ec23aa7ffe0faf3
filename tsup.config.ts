import { defineConfig } from 'tsup';

/** One bundle per package: its own files in dist, its dependencies left as imports. Declarations come from tsc. */
export default defineConfig({
  entry: { index: 'src/index.ts' },
  format: ['esm'],
  target: 'node22',
  platform: 'node',
  sourcemap: true,
  clean: true,
  dts: false,
  silent: true,
});
