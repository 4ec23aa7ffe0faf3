import type { Logger } from '@node-agent/telemetry';
import type { CgroupManager } from './cgroup-manager.ts';
import type { CgroupName } from './names.ts';
import type { ResourceConfig } from './resource-config.ts';

/**
 * Holds groups to limits: writes all of them until that has succeeded once, and from then on only those that are missing, as a reload of
 * systemd takes them away (kubernetes#104289). A limit with another value is another agent's (kubernetes#138431).
 */
export class LimitKeeper {
  readonly #manager: CgroupManager;
  readonly #logger: Logger;
  /** The groups whose limits have been written, by path. */
  readonly #written = new Set<string>();

  constructor({ manager, logger }: { readonly manager: CgroupManager; readonly logger: Logger }) {
    this.#manager = manager;
    this.#logger = logger;
  }

  /** @param write writes all of `config`, after making the group if that may be missing. @throws the error of a write */
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
    this.#logger.info({ cgroup: path, limits: unset }, 'Setting limits of a cgroup again that were reset');
    await manager.update(name, unset);
  }

  /** Other limits are wanted for the group: the next {@link keep} writes them. */
  changed(name: CgroupName): void {
    this.#written.delete(this.#manager.path(name));
  }
}
