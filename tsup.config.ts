import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
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

const manifest: Manifest = JSON.parse(readFileSync('package.json', 'utf8'));

/** One bundle per entry: a package's own files in dist, its dependencies left as imports. Declarations come from tsc. */
export default defineConfig({
  entry: entriesOf(manifest),
  define: constantsOf(manifest),
  format: ['esm'],
  target: 'node22',
  platform: 'node',
  sourcemap: true,
  // The sources are in the tarball too: the maps name them, and need not hold them.
  esbuildOptions: (options) => {
    options.sourcesContent = false;
  },
  clean: true,
  dts: false,
  silent: true,
});
