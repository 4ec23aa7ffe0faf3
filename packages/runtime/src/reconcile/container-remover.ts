import { ContainerState, CriError, type RuntimeService } from '@node-agent/cri-client';
import { PodRuntimeError } from '../errors.ts';
import type { ContainerFiles } from './container-files.ts';

/**
 * Whether the runtime refuses for good to remove a container that never ran: containerd 1.6 cannot where it made the task while nobody waited
 * for that any more. Such a one is in nobody's way.
 */
export function isLeaked(err: unknown): boolean {
  return CriError.from(err).code === 'FAILED_PRECONDITION';
}

/** Removes containers from the runtime, and their logs from the machine. */
export class ContainerRemover {
  readonly #cri: Pick<RuntimeService, 'containerStatus' | 'removeContainer'>;
  readonly #files: ContainerFiles;

  constructor(components: {
    readonly cri: Pick<RuntimeService, 'containerStatus' | 'removeContainer'>;
    readonly files: ContainerFiles;
  }) {
    this.#cri = components.cri;
    this.#files = components.files;
  }

  /**
   * Removes a container that does not run; one that is gone is removed. The log goes first: should that fail, the
   * container stays, and with it the knowledge of the log.
   * @param keepLogs leaves the log where it is, for those who still read it: then it is not looked at either
   * @throws CriError, the file system's errors, and PodRuntimeError `BadAnswer`, or `Running` where its start came late
   */
  async remove(containerId: string, keepLogs: boolean, signal: AbortSignal): Promise<void> {
    try {
      if (!keepLogs) {
        const { status } = await this.#cri.containerStatus({ containerId }, signal);
        if (status === null) throw new PodRuntimeError('BadAnswer', `container ${containerId} has no status`);
        // A runtime would kill it, without SIGTERM (C6).
        if (status.state === ContainerState.CONTAINER_RUNNING) {
          throw new PodRuntimeError('Running', `container ${containerId} runs since it was to be removed`);
        }
        await this.#files.removeLogs(status);
      }
      await this.#cri.removeContainer({ containerId }, signal);
    } catch (err) {
      if (CriError.from(err).code !== 'NOT_FOUND') throw err;
    }
  }
}
