import { defineConfig, type Options } from 'tsup';

/** Few files without imports of packages: a guest that is emulated reads many small ones slowly. */
const common: Options = {
  format: ['esm'],
  target: 'node22',
  platform: 'node',
  removeNodeProtocol: false,
  noExternal: [/.*/],
  // What is CommonJS among what is bundled asks for modules of Node.js by this.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
  esbuildOptions: (options) => {
    options.conditions = ['@node-agent/source'];
  },
  clean: true,
  dts: false,
  silent: true,
};
const config: Options | Options[] | ((overrides: Options) => Options) = defineConfig([
  {
    ...common,
    entry: {
      groups: 'suite/groups.ts',
      pressure: 'suite/pressure.ts',
      kubelet: 'suite/kubelet.ts',
      shutdown: 'suite/shutdown.ts',
      compare: 'suite/compare.ts',
    },
    splitting: false,
    outDir: '.run/suite',
  },
  {
    ...common,
    entry: { main: '../../apps/kubelet/src/main.ts', helper: '../../packages/host/src/helper.ts' },
    // A CommonJS module that is loaded late has its names only where it is in the same file.
    splitting: false,
    // Asked for in a cluster alone, and larger than all the rest.
    noExternal: [/^(?!@kubernetes\/client-node)/],
    external: ['@kubernetes/client-node'],
    outDir: '.run/kubelet/dist',
  },
]) as Options[];
export default config;
