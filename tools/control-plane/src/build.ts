import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';
import type { ProgramName } from './binaries.ts';
import { run } from './run.ts';
import { ETCD_VERSION, KUBERNETES_VERSION, stagingVersion } from './versions.ts';

const KUBERNETES = 'k8s.io/kubernetes';
const ETCD = 'go.etcd.io/etcd/server/v3';

/** Program of the Kubernetes release, or of a module that the release requires. */
export interface BuildTarget {
  /** File name of the program. */
  readonly name: string;
  /** Go package of the program. With `test`, the package's tests are compiled to the program. */
  readonly package: string;
  readonly test?: boolean;
}

/**
 * Builds programs of the Kubernetes release from its Go module together. The build takes 4 to 10 minutes on two
 * cores; later builds use Go's cache.
 * @throws Error if Go is missing or the build fails
 */
export async function buildPrograms(
  names: readonly ProgramName[],
  binDir: string,
  say: (text: string) => void,
): Promise<void> {
  const packageOf = (name: ProgramName): string => (name === 'etcd' ? ETCD : `${KUBERNETES}/cmd/${name}`);
  await buildTargets(
    names.map((name) => ({ name, package: packageOf(name) })),
    binDir,
    say,
  );
}

/**
 * Builds packages of the Kubernetes release and of modules that it requires into a directory, like {@link
 * buildPrograms}.
 * @throws Error if Go is missing or the build fails
 */
export async function buildTargets(
  targets: readonly BuildTarget[],
  binDir: string,
  say: (text: string) => void,
): Promise<void> {
  const env = goEnvironment();
  await run('go', ['version'], { env }).catch(() => {
    throw new Error('build programs: Go is not installed');
  });
  const names = targets.map(({ name }) => name).join(', ');
  say(`building ${names} of Kubernetes ${KUBERNETES_VERSION}, which takes some minutes and is then cached`);
  // The build uses a separate directory and renames the programs at the end, so that concurrent builds do not conflict.
  const work = `${binDir}.${process.pid}`;
  await mkdir(join(work, 'bin'), { recursive: true });
  try {
    const { GoMod } = await releaseModule();
    await writeFile(join(work, 'go.mod'), goMod(await readFile(GoMod, 'utf8')));
    const flags = ['-mod=mod', `-ldflags=${linkerFlags().join(' ')}`];
    const commands = targets.filter(({ test }) => !test);
    if (commands.length > 0) {
      const packages = commands.map((target) => target.package);
      await run('go', ['build', ...flags, '-o', join(work, 'bin/'), ...packages], { cwd: work, env });
    }
    for (const target of targets.filter(({ test }) => test)) {
      const file = join(work, 'bin', basename(target.package));
      // The release has been vetted, and vet would also check all imported packages.
      await run('go', ['test', '-c', '-vet=off', ...flags, '-o', file, target.package], { cwd: work, env });
    }
    for (const { name, package: path } of targets)
      await rename(join(work, 'bin', commandName(path)), join(binDir, name));
  } catch (error) {
    throw new Error(`build programs: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * Downloads the release's Go module. @returns the paths of its `go.mod` and its sources
 * @throws Error if Go is missing
 */
export async function releaseModule(): Promise<{ readonly GoMod: string; readonly Dir: string }> {
  const args = ['mod', 'download', '-json', `${KUBERNETES}@v${KUBERNETES_VERSION}`];
  return JSON.parse(await run('go', args, { env: goEnvironment() })) as {
    readonly GoMod: string;
    readonly Dir: string;
  };
}

/** Returns the name that Go gives to a program: the last part of its path that is not a version. */
function commandName(path: string): string {
  const parts = path.split('/').filter((part) => !/^v\d+$/.test(part));
  return parts.at(-1) ?? path;
}

/** Returns the environment of Go commands. */
export function goEnvironment(): Readonly<Record<string, string>> {
  return {
    // Default installation directory of Go, which is not always in PATH.
    PATH: `${process.env.PATH ?? ''}${delimiter}/usr/local/go/bin`,
    // The release's own binaries are static, too, so that they run in an empty container.
    CGO_ENABLED: '0',
  };
}

/**
 * Returns the `go.mod` of the build. The release's own go.mod replaces staging modules by directories that its module
 * does not contain; here they are replaced by their published versions.
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

/** Returns linker flags that set the version information, as the release's own build does (`hack/lib/version.sh`). */
function linkerFlags(): string[] {
  const [major, minor] = KUBERNETES_VERSION.split('.');
  const facts = { gitVersion: `v${KUBERNETES_VERSION}`, gitMajor: major, gitMinor: minor, gitTreeState: 'archive' };
  const packages = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];
  const variables = packages.flatMap((name) =>
    Object.entries(facts).map(([variable, value]) => `-X ${name}.${variable}=${value}`),
  );
  return ['-s', '-w', ...variables];
}
