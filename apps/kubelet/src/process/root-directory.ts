import type { FileSystem } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';
import { type SharedDirectoryComponents, shareDirectory } from '@node-agent/volumes';

/** Components of {@link shareRootDirectory}. */
export interface RootDirectoryComponents extends SharedDirectoryComponents {
  readonly fs: Pick<FileSystem, 'readFile' | 'realpath'>;
  readonly logger: Logger;
}

/** Bit of CAP_SYS_ADMIN in the capability mask (capabilities(7)). */
const CAP_SYS_ADMIN = 21n;

/**
 * Makes the kubelet's root directory, which must exist, a shared mount, so that mounts propagate between host and
 * containers (`setupDataDirs` in `pkg/kubelet/kubelet.go`). Without CAP_SYS_ADMIN, upstream fails to start; this
 * kubelet logs a warning and continues, and the runtime rejects containers that need mount propagation.
 * @throws Error if the kubelet has CAP_SYS_ADMIN and the mount still fails
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
    logger.warn({ err, path: rootDir }, 'Could not make the root directory a shared mount');
  }
}

async function mayMount(fs: Pick<FileSystem, 'readFile'>): Promise<boolean> {
  const status = new TextDecoder().decode(await fs.readFile('/proc/self/status'));
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> CAP_SYS_ADMIN) & 1n) === 1n;
}
