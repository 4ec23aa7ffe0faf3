import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';
import type { ProgramName } from './binaries.ts';
import { run } from './run.ts';
import { ETCD_VERSION, KUBERNETES_VERSION, stagingVersion } from './versions.ts';

const KUBERNETES = 'k8s.io/kubernetes';
const ETCD = 'go.etcd.io/etcd/server/v3';

/** A program of the release, or of a module that it requires. */
export interface BuildTarget {
  /** The file that it becomes. */
  readonly name: string;
  /** The Go package that it is made of: a command, or with `test` one whose tests become the program. */
  readonly package: string;
  readonly test?: boolean;
}

/**
 * Builds programs of the release from its Go module: once, in one go (4 to 10 minutes on two cores, then Go's own cache has it).
 * @throws Error where there is no Go, or it does not build
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
 * Builds anything of the release, and of the modules that it requires, into a directory, as {@link buildPrograms} does.
 * @throws Error where there is no Go, or it does not build
 */
export async function buildTargets(
  targets: readonly BuildTarget[],
  binDir: string,
  say: (text: string) => void,
): Promise<void> {
  const env = goEnvironment();
  await run('go', ['version'], { env }).catch(() => {
    throw new Error('they cannot be built: Go is not installed');
  });
  const names = targets.map(({ name }) => name).join(', ');
  say(`building ${names} of Kubernetes ${KUBERNETES_VERSION}, once; this takes some minutes`);
  // Built beside and renamed: another process that builds the same is not in the way.
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
      // Others have vetted the release; vet would look at all that it imports too.
      await run('go', ['test', '-c', '-vet=off', ...flags, '-o', file, target.package], { cwd: work, env });
    }
    for (const { name, package: path } of targets)
      await rename(join(work, 'bin', commandName(path)), join(binDir, name));
  } catch (error) {
    throw new Error(`they cannot be built: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The release's Go module, brought to this machine: its `go.mod`, and where its sources are. @throws Error where there is no Go */
export async function releaseModule(): Promise<{ readonly GoMod: string; readonly Dir: string }> {
  const args = ['mod', 'download', '-json', `${KUBERNETES}@v${KUBERNETES_VERSION}`];
  return JSON.parse(await run('go', args, { env: goEnvironment() })) as {
    readonly GoMod: string;
    readonly Dir: string;
  };
}

/** Go names a program after the last part of its path that is no version. */
function commandName(path: string): string {
  const parts = path.split('/').filter((part) => !/^v\d+$/.test(part));
  return parts.at(-1) ?? path;
}

function goEnvironment(): Readonly<Record<string, string>> {
  return {
    // Where it is usually installed, though not everybody's PATH names that.
    PATH: `${process.env.PATH ?? ''}${delimiter}/usr/local/go/bin`,
    // As the release's own are: they run in a container with nothing else in it, too.
    CGO_ENABLED: '0',
  };
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
