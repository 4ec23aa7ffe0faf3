import { defineConfig, type Options } from 'tsup';

/**
 * The suites are bundled into few files without package imports, because an emulated guest reads many small files
 * slowly.
 */
const common: Options = {
  format: ['esm'],
  target: 'node22',
  platform: 'node',
  removeNodeProtocol: false,
  noExternal: [/.*/],
  // Bundled CommonJS code loads Node.js modules with this `require`.
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
      package: 'suite/package.ts',
      compare: 'suite/compare.ts',
      numa: 'suite/numa.ts',
      volumes: 'suite/volumes.ts',
      'e2e-node': 'suite/e2e-node.ts',
    },
    splitting: false,
    outDir: '.run/suite',
  },
  {
    ...common,
    entry: {
      main: '../../apps/kubelet/src/main.ts',
      helper: '../../packages/host/src/helper.ts',
      nodectl: '../../packages/nodectl/src/bin.ts',
    },
    // A CommonJS module that is loaded lazily keeps its named exports only if it is in the same file.
    splitting: false,
    // The package is needed only in a cluster, and is larger than everything else.
    noExternal: [/^(?!@kubernetes\/client-node)/],
    external: ['@kubernetes/client-node'],
    outDir: '.run/kubelet/dist',
  },
]) as Options[];
export default config;
