import { access, mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { attempt, run } from './run.ts';

/** Programs of one containerd. */
export interface ContainerdBinaries {
  /** Version as containerd reports it, such as `1.6.20` or `2.4.2`. */
  readonly version: string;
  readonly containerd: string;
  readonly ctr: string;
  readonly runc: string;
  readonly cniBinDir: string;
}

/** The found programs, or the reason why there are none. */
export type Found = { readonly binaries: ContainerdBinaries } | { readonly reason: string };

/** Version that is built for containerd 2.4. */
const CONTAINERD_2 = { module: 'github.com/containerd/containerd/v2', version: '2.4.2' };
const RUNC = { module: 'github.com/opencontainers/runc', version: '1.3.6' };
const CNI_BIN_DIRS = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'];

/** Returns the reason why containerd cannot run on this machine; `undefined` if it can. */
export function cannotRun(): string | undefined {
  if (process.platform !== 'linux') return 'containerd requires Linux';
  return process.getuid?.() === 0 ? undefined : 'containerd must run as root';
}

/** Finds the machine's containerd in PATH. */
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
 * Returns containerd 2.4 with its own runc from the cache, or builds both from their Go modules, which takes 2 minutes
 * once.
 * @param say receives progress messages
 */
export async function findOrBuildContainerd24(say: (text: string) => void): Promise<Found> {
  const reason = cannotRun();
  if (reason !== undefined) return { reason };
  const commands = ['containerd', 'containerd-shim-runc-v2', 'ctr'].map((name) => `${CONTAINERD_2.module}/cmd/${name}`);
  const containerdDir = cacheDir(`containerd-${CONTAINERD_2.version}`);
  const runcDir = cacheDir(`runc-${RUNC.version}`);
  const missing = !(await exists(join(containerdDir, 'containerd'))) || !(await exists(join(runcDir, 'runc')));
  if (missing) {
    if ((await which('go')) === undefined) return { reason: 'containerd 2.4 is not cached, and Go is not installed' };
    if ((await attempt('pkg-config', ['--exists', 'libseccomp']).catch(() => undefined))?.exitCode !== 0) {
      return {
        reason: 'runc is not cached, and libseccomp-dev and pkg-config, which its build requires, are not installed',
      };
    }
    say(`building containerd ${CONTAINERD_2.version} and runc ${RUNC.version}, which are then cached`);
    try {
      await build(containerdDir, CONTAINERD_2, commands, []);
      await build(runcDir, RUNC, [RUNC.module], ['-tags', 'seccomp']);
    } catch (error) {
      return { reason: `build containerd 2.4: ${error instanceof Error ? error.message : String(error)}` };
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
  return { reason: `no CNI plugins in ${CNI_BIN_DIRS.join(', ')}` };
}

async function build(
  binDir: string,
  { module, version }: { module: string; version: string },
  commands: readonly string[],
  flags: readonly string[],
): Promise<void> {
  if (await exists(binDir)) return;
  // The build uses a separate directory that is renamed at the end, so that concurrent builds do not conflict.
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

/**
 * Returns the version from `--version`. A program that was built from its module may not report a version; then the
 * requested one is returned.
 */
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
