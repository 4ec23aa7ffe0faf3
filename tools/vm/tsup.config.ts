import { defineConfig, type Options } from 'tsup';

/** The suite as one file without imports: a guest that is emulated reads many small ones slowly. */
const config: Options | Options[] | ((overrides: Options) => Options) = defineConfig({
  entry: { suite: 'suite/main.ts' },
  format: ['esm'],
  target: 'node22',
  platform: 'node',
  removeNodeProtocol: false,
  splitting: false,
  noExternal: [/.*/],
  esbuildOptions: (options) => {
    options.conditions = ['@node-agent/source'];
  },
  outDir: '.run/suite',
  clean: true,
  dts: false,
  silent: true,
}) as Options;
export default config;
