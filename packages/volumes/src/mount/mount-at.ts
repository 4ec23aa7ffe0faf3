import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { type TakeAwayComponents, takeAway } from './take-away.ts';

/** What {@link mountAt} works with. */
export type MountAtComponents = TakeAwayComponents & {
  readonly fs: Pick<FileSystem, 'mkdir'>;
  readonly logger: Logger;
};

/** Makes a directory and has something mounted there; where that fails, the directory goes again. @throws what `mount` does, a system error */
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
      components.logger.warn({ err, path: directory }, 'A volume that cannot be mounted is not taken away yet');
    });
    throw error;
  }
}
