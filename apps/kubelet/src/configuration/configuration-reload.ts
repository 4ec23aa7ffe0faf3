import {
  ConfigError,
  formatIssue,
  type KubeletConfiguration,
  type LoadedConfiguration,
  planReload,
} from '@node-agent/config';
import { type EventType, errorText, type Logger } from '@node-agent/telemetry';

/** Longest message of an event that the API server accepts, in characters. */
const MAX_MESSAGE = 1024;

/** Components of {@link ConfigurationReload}. */
interface Components {
  readonly logger: Logger;
  /** Reads the configuration from its files again. @throws ConfigError if it is invalid */
  readonly load: () => Promise<Pick<LoadedConfiguration, 'configuration'>>;
  /**
   * Applies a configuration that differs from the current one only in live fields, which take effect without a restart.
   * @throws any error of a component that rejects a value
   */
  readonly apply: (configuration: KubeletConfiguration, before: KubeletConfiguration) => void;
  /** Records an event about the node. */
  readonly tell: (type: EventType, reason: string, message: string) => void;
}

/** Reload state that `/configz` shows in addition to the configuration in force. */
export interface ReloadState {
  /** Fields whose values in the files take effect with the next start. */
  readonly needsRestart: readonly string[];
  /** Problems for which the configuration files were rejected; absent if the files are valid. */
  readonly problems?: readonly string[];
}

/**
 * Applies changes of the configuration files while the kubelet runs. Live fields take effect; fields that need a
 * restart are named in the log, an event and `/configz`. An invalid configuration is not applied.
 */
export class ConfigurationReload {
  readonly #components: Components;
  #current: KubeletConfiguration;
  #needsRestart: readonly string[] = [];
  #problems: readonly string[] = [];

  constructor(components: Components, start: KubeletConfiguration) {
    this.#components = components;
    this.#current = start;
  }

  /** The configuration in force. */
  get current(): KubeletConfiguration {
    return this.#current;
  }

  /** Fields that need a restart, and problems of the files; `undefined` if all values of the files are in force. */
  get state(): ReloadState | undefined {
    if (this.#needsRestart.length === 0 && this.#problems.length === 0) return undefined;
    return { needsRestart: this.#needsRestart, ...(this.#problems.length > 0 && { problems: this.#problems }) };
  }

  /**
   * Reads the configuration files and applies the changed fields. Never throws. @returns whether the files are valid
   */
  async reload(): Promise<boolean> {
    const { logger, load } = this.#components;
    try {
      const { configuration } = await load();
      this.#take(configuration);
      if (this.#problems.length > 0) logger.info({}, 'Configuration is valid again');
      this.#problems = [];
      return true;
    } catch (error) {
      this.#refuse(ConfigError.is(error) ? error.issues.map(formatIssue) : [errorText(error)]);
      return false;
    }
  }

  #take(loaded: KubeletConfiguration): void {
    const { logger, apply, tell } = this.#components;
    const before = this.#current;
    const { configuration, live, restart } = planReload(before, loaded);
    if (live.length > 0) {
      try {
        apply(configuration, before);
      } catch (error) {
        // Components that applied their new values before the error get the previous values again.
        apply(before, configuration);
        throw error;
      }
      logger.info({ fields: live }, 'Applied changed configuration');
      tell('Normal', 'ConfigurationChanged', `Applied changed configuration: ${live.join(', ')}`);
    }
    this.#current = configuration;
    const isNew = restart.some((field) => !this.#needsRestart.includes(field));
    this.#needsRestart = restart;
    if (!isNew) return;
    logger.warn({ fields: restart }, 'Changed configuration needs a restart of the kubelet');
    tell('Warning', 'ConfigurationNeedsRestart', `Needs a restart of the kubelet: ${restart.join(', ')}`);
  }

  /** Reports the problems of an invalid configuration in log and event, but not again until the problems change. */
  #refuse(problems: readonly string[]): void {
    const isKnown = problems.join('\n') === this.#problems.join('\n');
    this.#problems = problems;
    if (isKnown) return;
    const { logger, tell } = this.#components;
    for (const problem of problems) {
      logger.error({ problem }, 'Changed configuration is invalid, the previous one stays in force');
    }
    const text = `The previous configuration stays in force: ${problems.join('; ')}`;
    tell('Warning', 'ConfigurationInvalid', text.slice(0, MAX_MESSAGE));
  }
}
