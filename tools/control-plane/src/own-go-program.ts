import { createHash } from 'node:crypto';
import { access, copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Found } from './binaries.ts';
import { goEnvironment, goMod, releaseModule } from './build.ts';
import { run } from './run.ts';
import { KUBERNETES_VERSION } from './versions.ts';

/** A Go program of this repository that imports packages of the Kubernetes release (`KUBERNETES_VERSION`). */
export interface OwnGoProgram {
  readonly name: string;
  /** Directory of the program's Go files, without a `go.mod`. */
  readonly source: URL;
}

/**
 * Returns the program from the cache, or builds it if its source has changed. If there is no program, the result
 * contains the reason.
 */
export async function findOwnGoProgram(
  { name, source }: OwnGoProgram,
  say: (text: string) => void,
): Promise<Found<{ readonly program: string }>> {
  const directory = fileURLToPath(source);
  const files = (await readdir(directory)).filter((file) => file.endsWith('.go')).sort();
  const hash = createHash('sha256').update(KUBERNETES_VERSION);
  for (const file of files) hash.update(await readFile(join(directory, file)));
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'node-agent');
  const program = join(cache, `${name}-${hash.digest('hex').slice(0, 16)}`);
  const isThere = await access(program).then(
    () => true,
    () => false,
  );
  try {
    if (!isThere) await build(name, directory, files, program, say);
    return { binaries: { program } };
  } catch (error) {
    return { reason: `build ${name}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

async function build(
  name: string,
  directory: string,
  files: readonly string[],
  program: string,
  say: (text: string) => void,
): Promise<void> {
  const env = goEnvironment();
  await run('go', ['version'], { env }).catch(() => {
    throw new Error('Go is not installed');
  });
  say(`building ${name} with packages of Kubernetes ${KUBERNETES_VERSION}, which takes minutes and is then cached`);
  // The build uses a separate directory and renames the program at the end, so that concurrent builds do not conflict.
  const work = `${program}.${process.pid}`;
  await mkdir(work, { recursive: true });
  try {
    const { GoMod } = await releaseModule();
    await writeFile(join(work, 'go.mod'), goMod(await readFile(GoMod, 'utf8')));
    for (const file of files) await copyFile(join(directory, file), join(work, file));
    await run('go', ['build', '-mod=mod', '-ldflags=-s -w', '-o', join(work, name), '.'], { cwd: work, env });
    await rename(join(work, name), program);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
