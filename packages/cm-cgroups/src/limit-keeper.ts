import type { Logger } from '@node-agent/telemetry';
import type { CgroupManager } from './cgroup-manager.ts';
import type { CgroupName } from './names.ts';
import type { ResourceConfig } from './resource-config.ts';

/**
 * Keeps limits of cgroups set. All limits are written until all writes have succeeded once. After that, only limits
 * that were reset are written again, because a reload of systemd resets limits (kubernetes#104289). A limit with
 * another value was set by another agent and is kept (kubernetes#138431).
 */
export class LimitKeeper {
  readonly #manager: CgroupManager;
  readonly #logger: Logger;
  /** Paths of the cgroups whose limits have been written. */
  readonly #written = new Set<string>();

  constructor({ manager, logger }: { readonly manager: CgroupManager; readonly logger: Logger }) {
    this.#manager = manager;
    this.#logger = logger;
  }

  /**
   * Writes the limits if necessary. @param write writes all of `config`, and first creates the cgroup if it may be
   * missing. @throws the error of a write
   */
  async keep(name: CgroupName, config: ResourceConfig, write: () => Promise<void>): Promise<void> {
    const manager = this.#manager;
    const path = manager.path(name);
    if (!this.#written.has(path) || manager.unset === undefined || !(await manager.exists(name))) {
      this.#written.delete(path);
      await write();
      this.#written.add(path);
      return;
    }
    const unset = await manager.unset(name, config);
    if (Object.keys(unset).length === 0) return;
    this.#logger.info({ cgroup: path, limits: unset }, 'Restoring limits of a cgroup that were reset');
    await manager.update(name, unset);
  }

  /** Records that the wanted limits have changed: the next {@link keep} writes them all. */
  changed(name: CgroupName): void {
    this.#written.delete(this.#manager.path(name));
  }
}
