import { isBuiltin } from 'node:module';
import path from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { root } from '../workspace.ts';

/** Directory of the modules that only the single executable file has. */
const OWN = path.join(import.meta.dirname, '../single-file');

/** Large packages that are loaded only when they are needed. Each is bundled as a part of its own. */
const LAZY_PACKAGES: Readonly<Record<string, { readonly from: string; readonly exports: string }>> = {
  '@kubernetes/client-node': { from: 'packages/kube-client', exports: 'export { KubeConfig }' },
  '@grpc/grpc-js': { from: 'packages/grpc', exports: 'export *' },
};

/** Programs of the executable file and their entries, relative to the root of the checkout. */
const PROGRAMS: Readonly<Record<string, string>> = {
  kubelet: 'apps/kubelet/src/main.ts',
  nodectl: 'packages/nodectl/src/bin.ts',
  'kubectl-why': 'packages/kubectl-why/src/bin.ts',
  'kubelet-cluster': 'apps/cluster/src/main.ts',
  'host-helper': 'packages/host/src/helper.ts',
  'manifest-worker': 'packages/pod-config/src/manifest-worker.ts',
  'end-pods': 'tools/packaging/src/single-file/end-pods.ts',
};

/** Modules that read files beside themselves, and the modules that replace them. */
const REPLACED: Readonly<Record<string, string>> = {
  'packages/host/src/helper/helper-program.ts': path.join(OWN, 'helper-program.ts'),
  'packages/pod-config/src/start-manifest-worker.ts': path.join(OWN, 'start-manifest-worker.ts'),
  'apps/cluster/src/own-commands.ts': path.join(OWN, 'own-commands.ts'),
};

/** Constants of the build. */
export interface Constants {
  /** Commit in `kubelet --version`: hexadecimal digits. */
  readonly commit: string;
  /** Returns the version of the package in a directory of the checkout. */
  readonly versionOf: (directory: string) => string;
}

/** Parts of the executable file. */
export interface BundledParts {
  /** JavaScript of each part by name: a function `(exports, require, module)`, in ASCII. */
  readonly scripts: ReadonlyMap<string, string>;
  /** Directories of the npm packages that the parts contain, sorted. */
  readonly packages: readonly string[];
}

/** Bundles every part of the executable file. @throws Error if a part would read a module from the disk while it runs */
export async function bundleParts(constants: Constants): Promise<BundledParts> {
  const programs = Object.entries(PROGRAMS).map(
    async ([name, entry]) => [name, await bundle({ entryPoints: [path.join(root, entry)] }, constants)] as const,
  );
  const packages = Object.entries(LAZY_PACKAGES).map(async ([name, { from, exports }]) => {
    const contents = `${exports} from '${name}';`;
    const stdin = { contents, resolveDir: path.join(root, from), loader: 'js' } as const;
    return [name, await bundle({ stdin, minify: true }, constants, name)] as const;
  });
  const parts = await Promise.all([...programs, ...packages]);
  const scripts = parts.map(([name, { code }]) => [name, `(function(exports,require,module){${code}\n})`] as const);
  const files = parts.flatMap(([, { inputs }]) => inputs);
  return { scripts: new Map(scripts), packages: [...new Set(files.flatMap(npmPackageOf))].sort() };
}

/** Returns the directory of the npm package of a file, or an empty list for a file of the checkout. */
function npmPackageOf(file: string): readonly string[] {
  const directory = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
  return directory === undefined ? [] : [directory];
}

/** Bundles a main script of the executable file: `main` or `main-with-cache`. */
export async function bundleMain(name: string): Promise<string> {
  const constants: Constants = { commit: '', versionOf: () => '' };
  return (await bundle({ entryPoints: [path.join(OWN, `${name}.ts`)] }, constants)).code;
}

interface Bundle {
  readonly code: string;
  /** Paths of the bundled files. */
  readonly inputs: readonly string[];
}

async function bundle(options: BuildOptions, constants: Constants, self?: string): Promise<Bundle> {
  const lazy = Object.keys(LAZY_PACKAGES).filter((name) => name !== self);
  const { outputFiles = [], metafile } = await build({
    ...{ bundle: true, write: false, metafile: true, format: 'cjs', platform: 'node', target: 'node24' },
    ...{ charset: 'ascii', legalComments: 'none', minifyWhitespace: true, minifySyntax: true },
    ...options,
    absWorkingDir: root,
    conditions: ['@node-agent/source'],
    // The parts are CommonJS in one script: `import()` becomes `require()`.
    supported: { 'dynamic-import': false },
    external: lazy,
    define: {
      NODE_AGENT_COMMIT: JSON.stringify(constants.commit),
      // Makes `ws` not look for its optional native modules, which are never installed.
      'process.env.WS_NO_BUFFER_UTIL': '"1"',
      'process.env.WS_NO_UTF_8_VALIDATE': '"1"',
    },
    plugins: [replacing(constants)],
    logLevel: 'error',
    // The build fails if a module looks for files beside itself, because the executable file has none beside it.
    logOverride: { 'empty-import-meta': 'error' },
  });
  const imports = Object.values(metafile?.outputs ?? {}).flatMap((output) => output.imports);
  const missing = imports.map((each) => each.path).filter((id) => !isBuiltin(id) && !lazy.includes(id));
  if (missing.length > 0) throw new Error(`bundle for the single file: not bundled: ${missing.join(', ')}`);
  const code = outputFiles[0]?.text.replace(/^#!.*\n/, '') ?? '';
  const foreign = /.{0,30}[^\p{ASCII}]/u.exec(code)?.[0];
  if (foreign !== undefined) throw new Error(`bundle for the single file: must be ASCII: ${foreign}`);
  return { code, inputs: Object.keys(metafile?.inputs ?? {}).map((file) => path.join(root, file)) };
}

/** Replaces the modules that read files beside themselves. */
function replacing({ versionOf }: Constants): Plugin {
  return {
    name: 'single-file',
    setup(bundling) {
      bundling.onLoad({ filter: /\.ts$/ }, ({ path: file }) => {
        const relative = path.relative(root, file);
        const replacement = REPLACED[relative];
        if (replacement !== undefined) {
          return { contents: `export * from ${JSON.stringify(replacement)};`, loader: 'ts', resolveDir: root };
        }
        if (path.basename(file) !== 'own-version.ts') return undefined;
        const version = versionOf(path.dirname(path.dirname(relative)));
        return { contents: `export const ownVersion = () => ${JSON.stringify(version)};`, loader: 'ts' };
      });
    },
  };
}
