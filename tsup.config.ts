import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { defineConfig } from 'tsup';

interface Manifest {
  readonly name: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, string | { readonly '@node-agent/source'?: string }>>;
}

/** What a manifest exports and has as commands, by the path in dist (`src/testing.ts` becomes `dist/testing.js`). */
function entriesOf({ bin = {}, exports = {} }: Manifest): Record<string, string> {
  const names = [
    ...Object.values(exports).map((target) =>
      sourceName(typeof target === 'string' ? '' : target['@node-agent/source']),
    ),
    ...Object.values(bin).map((target) => /^\.\/dist\/(.+)\.js$/.exec(target)?.[1]),
  ];
  return Object.fromEntries(names.flatMap((name) => (name === undefined ? [] : [[name, `src/${name}.ts`]])));
}

function sourceName(source = ''): string | undefined {
  return /^\.\/src\/(.+)\.ts$/.exec(source)?.[1];
}

/** Returns the constants of a package: the kubelet's `--version` names the commit. */
function constantsOf({ name }: Manifest): Record<string, string> {
  if (name !== '@node-agent/kubelet') return {};
  let commit = '';
  try {
    const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] } as const;
    commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], options).trim();
  } catch {
    // Not a checkout.
  }
  return { NODE_AGENT_COMMIT: JSON.stringify(commit) };
}

/** The part of esbuild's plugin interface that is used here. */
interface Build {
  onResolve(on: { filter: RegExp }, answer: (of: { path: string; kind: string }) => object | undefined): void;
  onLoad(on: { filter: RegExp; namespace: string }, answer: (of: { path: string }) => object): void;
  onEnd(then: (result: { metafile?: { inputs: object } }) => void): void;
}

/**
 * Bundles CommonJS libraries that are devDependencies (docs/decisions/0011-bundled-libraries.md) so that no `require`
 * is left: bundlers of users reject it in ES modules. Licenses of the libraries are written to dist/LICENSES.txt.
 */
const bundledLibraries = {
  name: 'bundled-libraries',
  setup(build: Build): void {
    build.onResolve({ filter: /^[a-z][\w:/]*$/ }, ({ path, kind }) =>
      kind === 'require-call' && builtinModules.includes(path.replace(/^node:/, ''))
        ? { path, namespace: 'builtin' }
        : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
    // grpc-js needs its .proto reader for a channelz server only, which nothing here starts.
    build.onResolve({ filter: /^@grpc\/proto-loader$/ }, () => ({ path: 'proto-loader', namespace: 'left-out' }));
    build.onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents: 'module.exports = {};' }));
    // The library's ES modules, which its export map hides from programs for Node.js.
    build.onResolve({ filter: /^yaml$/ }, () => ({
      path: createRequire(`${process.cwd()}/`)
        .resolve('yaml')
        .replace(/dist.index\.js$/, 'browser/index.js'),
    }));
    build.onEnd(({ metafile }) => {
      const text = licensesOf(Object.keys(metafile?.inputs ?? {}));
      if (text === '') return;
      mkdirSync('dist', { recursive: true });
      writeFileSync('dist/LICENSES.txt', text);
    });
  },
};

function licensesOf(files: readonly string[]): string {
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? []);
  return [...new Set(folders)].sort().map(licenseOf).join('\n');
}

function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name}: bundled without a license file`);
  return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, 'utf8').trim()}\n`;
}

const manifest: Manifest = JSON.parse(readFileSync('package.json', 'utf8'));

/** One bundle per entry: a package's own files in dist, its dependencies left as imports. Declarations come from tsc. */
export default defineConfig({
  entry: entriesOf(manifest),
  define: constantsOf(manifest),
  format: ['esm'],
  target: 'node22',
  platform: 'node',
  sourcemap: true,
  // Source maps refer to the sources instead of containing them, because the tarball has the sources too.
  esbuildOptions: (options) => {
    options.sourcesContent = false;
    options.metafile = true;
  },
  esbuildPlugins: [bundledLibraries],
  clean: true,
  dts: false,
  silent: true,
});
