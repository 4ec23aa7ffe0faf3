import { access, mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { attempt, run } from './run.ts';

/** The programs of one containerd. */
export interface ContainerdBinaries {
  /** As containerd itself says it, `1.6.20` or `2.4.2`. */
  readonly version: string;
  readonly containerd: string;
  readonly ctr: string;
  readonly runc: string;
  readonly cniBinDir: string;
}

/** What there is, or why there is none. */
export type Found = { readonly binaries: ContainerdBinaries } | { readonly reason: string };

/** The release that is built where 2.4 is asked for. */
const CONTAINERD_2 = { module: 'github.com/containerd/containerd/v2', version: '2.4.2' };
const RUNC = { module: 'github.com/opencontainers/runc', version: '1.3.6' };
const CNI_BIN_DIRS = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'];

/** Why no containerd can be run here at all; `undefined` where one can. */
export function cannotRun(): string | undefined {
  if (process.platform !== 'linux') return 'containerd runs on Linux';
  return process.getuid?.() === 0 ? undefined : 'containerd is run as root';
}

/** The containerd of the machine: what PATH has. */
export async function findContainerd(): Promise<Found> {
  const reason = cannotRun();
  if (reason !== undefined) return { reason };
  const containerd = await which('containerd');
  if (containerd === undefined) return { reason: 'containerd is not installed' };
  const ctr = await which('ctr');
  const runc = await which('runc');
  if (ctr === undefined || runc === undefined) return { reason: 'containerd is installed without ctr or runc' };
  return withCni({ version: await versionOf(containerd), containerd, ctr, runc });
}

/**
 * A containerd 2.4: from the cache, or built into it from its Go module (2 minutes, once), with a runc of its own.
 * @param say told what takes long
 */
export async function findOrBuildContainerd24(say: (text: string) => void): Promise<Found> {
  const reason = cannotRun();
  if (reason !== undefined) return { reason };
  const commands = ['containerd', 'containerd-shim-runc-v2', 'ctr'].map((name) => `${CONTAINERD_2.module}/cmd/${name}`);
  const containerdDir = cacheDir(`containerd-${CONTAINERD_2.version}`);
  const runcDir = cacheDir(`runc-${RUNC.version}`);
  const missing = !(await exists(join(containerdDir, 'containerd'))) || !(await exists(join(runcDir, 'runc')));
  if (missing) {
    if ((await which('go')) === undefined)
      return { reason: 'containerd 2.4 is not in the cache, and Go is not installed' };
    if ((await attempt('pkg-config', ['--exists', 'libseccomp']).catch(() => undefined))?.exitCode !== 0) {
      return { reason: 'runc is not in the cache, and to build it libseccomp-dev and pkg-config are not installed' };
    }
    say(`building containerd ${CONTAINERD_2.version} and runc ${RUNC.version}, once`);
    try {
      await build(containerdDir, CONTAINERD_2, commands, []);
      await build(runcDir, RUNC, [RUNC.module], ['-tags', 'seccomp']);
    } catch (error) {
      return { reason: `containerd 2.4 cannot be built: ${error instanceof Error ? error.message : String(error)}` };
    }
  }
  const containerd = join(containerdDir, 'containerd');
  const version = await versionOf(containerd, CONTAINERD_2.version);
  return withCni({ version, containerd, ctr: join(containerdDir, 'ctr'), runc: join(runcDir, 'runc') });
}

async function withCni(binaries: Omit<ContainerdBinaries, 'cniBinDir'>): Promise<Found> {
  for (const cniBinDir of CNI_BIN_DIRS) {
    if (await exists(join(cniBinDir, 'bridge'))) return { binaries: { ...binaries, cniBinDir } };
  }
  return { reason: `there are no CNI plugins in ${CNI_BIN_DIRS.join(', ')}` };
}

async function build(
  binDir: string,
  { module, version }: { module: string; version: string },
  commands: readonly string[],
  flags: readonly string[],
): Promise<void> {
  if (await exists(binDir)) return;
  // Built beside and renamed: another process that builds the same is not in the way.
  const work = `${binDir}.${process.pid}`;
  await mkdir(work, { recursive: true });
  try {
    await run('go', ['mod', 'init', 'node-agent.local/build'], { cwd: work });
    for (const command of commands) await run('go', ['get', '-tool', `${command}@v${version}`], { cwd: work });
    await run('go', ['build', ...flags, '-o', join(work, 'bin/'), ...commands], { cwd: work });
    await rename(join(work, 'bin'), binDir).catch(async (error: unknown) => {
      if (!(await exists(binDir))) throw error;
    });
  } catch (error) {
    throw new Error(`${module} v${version}`, { cause: error });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function cacheDir(name: string): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'node-agent', name);
}

/** What `--version` says: a program that was built from its module says little, and then what was asked for stands. */
async function versionOf(containerd: string, built?: string): Promise<string> {
  const text = await run(containerd, ['--version']);
  return /\bv?(\d+\.\d+\.\d+)/.exec(text.replace(/^.*?containerd\S*\s/, ''))?.[1] ?? built ?? text.trim();
}

async function which(name: string): Promise<string | undefined> {
  const path = `${process.env.PATH ?? ''}:/usr/sbin:/usr/local/sbin:/sbin:/usr/local/go/bin`;
  for (const directory of path.split(':')) {
    const file = join(directory, name);
    if (directory !== '' && (await exists(file))) return file;
  }
  return undefined;
}

export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
