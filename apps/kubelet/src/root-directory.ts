import type { FileSystem } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';
import { type SharedDirectoryComponents, shareDirectory } from '@node-agent/volumes';

/** What {@link shareRootDirectory} works with. */
export interface RootDirectoryComponents extends SharedDirectoryComponents {
  readonly fs: Pick<FileSystem, 'readFile' | 'realpath'>;
  readonly logger: Logger;
}

/** The bit of it among the capabilities (capabilities(7)). */
const CAP_SYS_ADMIN = 21n;

/**
 * Makes mounts below the kubelet's root directory, which is there, show in containers, and those of containers here (`setupDataDirs` in
 * `pkg/kubelet/kubelet.go`). Without the right to mount, with which upstream does not start at all, the log says so and the
 * kubelet goes on: the runtime refuses the containers that need it.
 * @throws Error where it may mount, and cannot
 */
export async function shareRootDirectory(
  { fs, mounter, logger }: RootDirectoryComponents,
  rootDir: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    const mounted = await shareDirectory({ fs, mounter }, rootDir, signal);
    if (mounted) logger.info({ path: rootDir }, 'Bind-mounted with shared mount propagation');
  } catch (err) {
    if (await mayMount(fs)) throw new Error(`error configuring root directory: ${errorText(err)}`, { cause: err });
    logger.warn({ err, path: rootDir }, 'The root directory is on no shared mount, and could not be mounted as one');
  }
}

async function mayMount(fs: Pick<FileSystem, 'readFile'>): Promise<boolean> {
  const status = new TextDecoder().decode(await fs.readFile('/proc/self/status'));
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> CAP_SYS_ADMIN) & 1n) === 1n;
}
