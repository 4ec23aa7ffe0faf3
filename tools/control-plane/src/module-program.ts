import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Found } from './binaries.ts';
import { goEnvironment } from './build.ts';
import { cacheDirectory } from './cache.ts';
import { run } from './run.ts';

/** Program in a Go module of its own, such as a CSI sidecar. */
export interface ModuleProgram {
  /** Module path, such as `github.com/kubernetes-csi/csi-test/v5`. */
  readonly module: string;
  /** Version with its `v`. */
  readonly version: string;
  /** Directory of the program in the module, such as `cmd/csi-sanity`, which names the program. */
  readonly directory: string;
}

/** Returns the program from the cache, or builds it. If there is no program, the result contains the reason. */
export async function findModuleProgram(
  program: ModuleProgram,
  say: (text: string) => void,
): Promise<Found<{ readonly program: string }>> {
  const binDir = join(cacheDirectory(), `${program.module.replaceAll('/', '_')}-${program.version}`);
  const file = join(binDir, basename(program.directory));
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  try {
    if (!isThere) await buildModuleProgram(program, binDir, say);
    return { binaries: { program: file } };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Builds a program into a directory. @throws Error if Go is missing or the build fails */
async function buildModuleProgram(
  { module, version, directory }: ModuleProgram,
  binDir: string,
  say: (text: string) => void,
): Promise<void> {
  const env = goEnvironment();
  const name = basename(directory);
  await run('go', ['version'], { env }).catch(() => {
    throw new Error(`build ${name}: Go is not installed`);
  });
  say(`building ${name} of ${module} ${version}, which is then cached`);
  // The build uses a separate directory and renames the program at the end, so that concurrent builds do not conflict.
  const work = `${binDir}.${process.pid}`;
  await mkdir(work, { recursive: true });
  try {
    const download = ['mod', 'download', '-json', `${module}@${version}`];
    const { GoMod } = JSON.parse(await run('go', download, { env })) as { readonly GoMod: string };
    await writeFile(join(work, 'go.mod'), moduleGoMod(module, version, await readFile(GoMod, 'utf8')));
    const flags = ['-mod=mod', '-ldflags=-s -w', '-o', join(work, name)];
    await run('go', ['build', ...flags, `${module}/${directory}`], { cwd: work, env });
    await mkdir(binDir, { recursive: true });
    await rename(join(work, name), join(binDir, name));
  } catch (error) {
    throw new Error(`build ${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * Returns the `go.mod` of the build. Go ignores the `replace` lines of required modules, so those with versions are
 * repeated.
 */
export function moduleGoMod(module: string, version: string, upstream: string): string {
  const directive = (name: string): string[] => upstream.match(new RegExp(`^${name} .*$`, 'm'))?.slice(0, 1) ?? [];
  const replaced = [...upstream.matchAll(/^(?:replace)?\s*(\S+(?: v\S+)? => [^.\s]\S* v\S+)\s*$/gm)];
  return [
    'module node-agent.local/build',
    ...directive('go'),
    `require ${module} ${version}`,
    ...replaced.map(([, line]) => `replace ${line}`),
    '',
  ].join('\n');
}
