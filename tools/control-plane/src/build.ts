import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { ProgramName } from './binaries.ts';
import { run } from './run.ts';
import { ETCD_VERSION, KUBERNETES_VERSION, stagingVersion } from './versions.ts';

const KUBERNETES = 'k8s.io/kubernetes';
const ETCD = 'go.etcd.io/etcd/server/v3';

/**
 * Builds programs of the release from its Go module: once, in one go (4 to 10 minutes on two cores, then Go's own cache has it).
 * @throws Error where there is no Go, or it does not build
 */
export async function buildPrograms(
  names: readonly ProgramName[],
  binDir: string,
  say: (text: string) => void,
): Promise<void> {
  const env = {
    // Where it is usually installed, though not everybody's PATH names that.
    PATH: `${process.env.PATH ?? ''}${delimiter}/usr/local/go/bin`,
    // As the release's own are: they run in a container with nothing else in it, too.
    CGO_ENABLED: '0',
  };
  await run('go', ['version'], { env }).catch(() => {
    throw new Error('they cannot be built: Go is not installed');
  });
  say(`building ${names.join(', ')} of Kubernetes ${KUBERNETES_VERSION}, once; this takes some minutes`);
  // Built beside and renamed: another process that builds the same is not in the way.
  const work = `${binDir}.${process.pid}`;
  await mkdir(work, { recursive: true });
  try {
    const download = await run('go', ['mod', 'download', '-json', `${KUBERNETES}@v${KUBERNETES_VERSION}`], { env });
    const { GoMod } = JSON.parse(download) as { readonly GoMod: string };
    await writeFile(join(work, 'go.mod'), goMod(await readFile(GoMod, 'utf8')));
    const packages = names.map((name) => (name === 'etcd' ? ETCD : `${KUBERNETES}/cmd/${name}`));
    const args = ['build', '-mod=mod', `-ldflags=${linkerFlags().join(' ')}`, '-o', join(work, 'bin/'), ...packages];
    await run('go', args, { cwd: work, env });
    for (const name of names) {
      // Go names a program after the last part of its path.
      await rename(join(work, 'bin', name === 'etcd' ? 'server' : name), join(binDir, name));
    }
  } catch (error) {
    throw new Error(`they cannot be built: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * The module in which the release is built: where the release's own go.mod replaces the modules that it stages by
 * directories, which its module does not have, there are their published versions here.
 */
export function goMod(upstream: string): string {
  const staged = [...upstream.matchAll(/^\s*(\S+) => \.\/staging\/src\/\1\s*$/gm)].map(([, module]) => module);
  const directive = (name: string): string[] => upstream.match(new RegExp(`^${name} .*$`, 'm'))?.slice(0, 1) ?? [];
  return [
    'module node-agent.local/build',
    ...directive('go'),
    ...directive('godebug'),
    `require ${KUBERNETES} v${KUBERNETES_VERSION}`,
    `require ${ETCD} v${ETCD_VERSION}`,
    ...staged.map((module) => `replace ${module} => ${module} v${stagingVersion(KUBERNETES_VERSION)}`),
    '',
  ].join('\n');
}

/** What the release's own build has the programs say of themselves (`hack/lib/version.sh`). */
function linkerFlags(): string[] {
  const [major, minor] = KUBERNETES_VERSION.split('.');
  const facts = { gitVersion: `v${KUBERNETES_VERSION}`, gitMajor: major, gitMinor: minor, gitTreeState: 'archive' };
  const packages = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];
  const variables = packages.flatMap((name) =>
    Object.entries(facts).map(([variable, value]) => `-X ${name}.${variable}=${value}`),
  );
  return ['-s', '-w', ...variables];
}
