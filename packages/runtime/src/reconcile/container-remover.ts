import { ContainerState, CriError, type RuntimeService } from '@node-agent/cri-client';
import { PodRuntimeError } from '../errors.ts';
import type { ContainerFiles } from './container-files.ts';

/**
 * Returns whether the runtime permanently refuses to remove a container that never ran. If a StartContainer call is
 * cancelled and containerd 1.6 creates the container's task afterwards, containerd cannot remove that container. Such a
 * container does no harm.
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
   * Removes a container that does not run; succeeds if it is already gone. The log is removed first. If the log cannot
   * be removed, the container stays, so its log is still known.
   * @param keepLogs whether to keep the log for later readers; if true, the container is removed without checking its
   * status
   * @throws CriError
   * @throws the errors of the file system
   * @throws PodRuntimeError `BadAnswer`, or `Running` if the container has started in the meantime
   */
  async remove(containerId: string, keepLogs: boolean, signal: AbortSignal): Promise<void> {
    try {
      if (!keepLogs) {
        const { status } = await this.#cri.containerStatus({ containerId }, signal);
        if (status === null) throw new PodRuntimeError('BadAnswer', `container ${containerId} has no status`);
        // Removing a running container would kill it without SIGTERM (C6).
        if (status.state === ContainerState.CONTAINER_RUNNING) {
          throw new PodRuntimeError('Running', `container ${containerId} started running before its removal`);
        }
        await this.#files.removeLogs(status);
      }
      await this.#cri.removeContainer({ containerId }, signal);
    } catch (err) {
      if (CriError.from(err).code !== 'NOT_FOUND') throw err;
    }
  }
}
