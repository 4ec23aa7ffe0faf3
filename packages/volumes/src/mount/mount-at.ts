import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { type TakeAwayComponents, takeAway } from './take-away.ts';

/** Dependencies of {@link mountAt}. */
export type MountAtComponents = TakeAwayComponents & {
  readonly fs: Pick<FileSystem, 'mkdir'>;
  readonly logger: Logger;
};

/**
 * Creates a directory and mounts a volume there; if the mount fails, the directory is removed. @throws the error of
 * `mount`, or a system error
 */
export async function mountAt(
  components: MountAtComponents,
  directory: string,
  mount: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  await components.fs.mkdir(directory, { mode: 0o750 });
  try {
    await mount();
  } catch (error) {
    await takeAway(components, directory, signal).catch((err: unknown) => {
      components.logger.warn(
        { err, path: directory },
        'Failed to remove the directory of a volume that could not be mounted',
      );
    });
    throw error;
  }
}
