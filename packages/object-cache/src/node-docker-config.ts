import { join } from 'node:path';
import type { Clock } from '@node-agent/async';
import { type FileSystem, isMissing } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type DockerConfig, parseDockerConfigJson, parseDockercfg, type RegistryLogin } from './docker-config.ts';
import { Keyring } from './keyring.ts';
import { loginsWithSource } from './login-source.ts';
import type { NodeCredentials } from './pull-secrets.ts';

/** The components of {@link NodeDockerConfig}. */
export interface NodeDockerConfigComponents {
  readonly fs: Pick<FileSystem, 'readFile'>;
  /** Default: the system clock. */
  readonly clock?: Pick<Clock, 'monotonic'>;
  /** Default: no logging. */
  readonly logger?: Logger;
}

/** The directories that {@link NodeDockerConfig} reads. */
export interface NodeDockerConfigOptions {
  /** The kubelet's root directory, which is read first. */
  readonly rootDirectory: string;
  /** The working directory of the process. */
  readonly workingDirectory: string;
  /** The home directory of the user. Default: none. */
  readonly homeDirectory?: string;
}

/** Time for which the content of the files is cached, in milliseconds. */
const LIFETIME_MS = 300_000;

/**
 * The logins that an administrator has configured on the node, for all pods: the first valid `config.json` in the
 * kubelet's root directory, the working directory, `~/.docker` or `/.docker`, otherwise the first `.dockercfg`. The
 * files are read again after five minutes. Source: `pkg/credentialprovider/config.go`, `provider.go`.
 */
export class NodeDockerConfig implements NodeCredentials {
  readonly #components: WithDefaults<NodeDockerConfigComponents>;
  readonly #candidates: readonly (readonly [path: string, parse: (text: string) => DockerConfig])[];
  #read: { readonly keyring: Promise<Keyring>; readonly untilMs: number } | undefined;

  constructor(components: NodeDockerConfigComponents, options: NodeDockerConfigOptions) {
    this.#components = withDefaults(components);
    const { rootDirectory, workingDirectory, homeDirectory } = options;
    const first = [rootDirectory, workingDirectory];
    const homes = homeDirectory === undefined ? [] : [homeDirectory];
    this.#candidates = [
      ...[...first, ...[...homes, '/'].map((home) => join(home, '.docker'))].map(
        (directory) => [join(directory, 'config.json'), parseDockerConfigJson] as const,
      ),
      ...[...first, ...homes, '/'].map((directory) => [join(directory, '.dockercfg'), parseDockercfg] as const),
    ];
  }

  async lookup(_pod: Pod, repository: string): Promise<readonly RegistryLogin[]> {
    const nowMs = this.#components.clock.monotonic();
    if (this.#read === undefined || nowMs >= this.#read.untilMs) {
      this.#read = { keyring: this.#load(), untilMs: nowMs + LIFETIME_MS };
    }
    return (await this.#read.keyring).lookup(repository);
  }

  async #load(): Promise<Keyring> {
    const { fs, logger } = this.#components;
    const keyring = new Keyring();
    for (const [file, parse] of this.#candidates) {
      try {
        const config = parse(new TextDecoder().decode(await fs.readFile(file)));
        for (const registry of keyring.add(loginsWithSource(config, () => undefined))) {
          logger.error({ file, registry }, 'Invalid registry in a docker configuration of the node');
        }
        return keyring;
      } catch (err) {
        if (!isMissing(err)) logger.warn({ err, file }, 'Failed to read a docker configuration of the node');
      }
    }
    return keyring;
  }
}

/** Combines the logins of several sources, in their order. */
export function allCredentials(...sources: readonly NodeCredentials[]): NodeCredentials {
  return {
    async lookup(pod, repository, signal) {
      return (await Promise.all(sources.map((source) => source.lookup(pod, repository, signal)))).flat();
    },
  };
}
