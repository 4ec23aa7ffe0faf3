import { type Clock, KeyedMutex, sleep } from '@node-agent/async';
import { imageRepository, type Pod, parseImageReference, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, errorText, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import {
  type ConfiguredLogin,
  type DockerConfig,
  parseDockerConfigJson,
  parseDockercfg,
  type RegistryLogin,
  shown,
} from './docker-config.ts';
import { ObjectCacheError } from './errors.ts';
import { Keyring } from './keyring.ts';
import { credentialHash } from './login-source.ts';
import type { ObjectCache } from './object-cache.ts';
import type { Secret } from './object-store.ts';

/** Finds the node's own logins for a pod's image, for example from credential provider plugins. */
export interface NodeCredentials {
  /** @param repository with its registry and without a tag: `docker.io/library/busybox` */
  lookup(pod: Pod, repository: string, signal: AbortSignal): Promise<readonly RegistryLogin[]>;
}

/** The components of {@link PullSecrets}. */
export interface PullSecretsComponents {
  /**
   * Source of the pods' secrets; absent if there is no API server. Pods then get an event that their secrets are
   * unavailable.
   */
  readonly secrets?: Pick<ObjectCache, 'getSecret'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: events are not recorded. */
  readonly recorder?: EventRecorder;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** The node's own logins, which are tried after the logins of the pod's secrets. */
  readonly node?: NodeCredentials;
}

/** A login and the secret that contains it. */
interface LoginOfSecret {
  readonly login: ConfiguredLogin;
  readonly secret: Secret;
}

/** The number of logins in a secret above which the event loop gets a turn after the secret was read. */
const MANY_LOGINS = 1000;
/** The maximum number of invalid registries named in a log line. */
const MAX_TOLD = 10;

/**
 * The credentials for a pod's images: those of its `imagePullSecrets`, then the node's. Implements the port
 * `PullCredentials` of `images`. Source: `pkg/credentialprovider/secrets`; `pkg/kubelet/kubelet_pods.go`,
 * getPullSecretsForPod.
 */
export class PullSecrets {
  readonly #components: WithDefaults<PullSecretsComponents>;
  /** Locks by pod UID. */
  readonly #reading = new KeyedMutex<string>();

  constructor(components: PullSecretsComponents) {
    this.#components = withDefaults(components);
  }

  /**
   * Returns the logins in the order in which to try them. If secrets cannot be retrieved, an event names them, and the
   * pull continues without them.
   * @throws ObjectCacheError `InvalidPullSecret` if a secret exists but is unreadable
   */
  async lookup(pod: Pod, image: string, signal: AbortSignal): Promise<readonly RegistryLogin[]> {
    const repository = imageRepository(parseImageReference(image));
    const secrets = await this.#secretsOf(pod, signal);
    // Only one lookup of a pod runs at a time: a pod may name any number of secrets and images, and parsing takes time.
    const read = () => this.#read(secrets, repository, signal);
    const found = await this.#reading.run(pod.metadata.uid, read, signal);
    const own = found.map((login) => ofSecret(login, pod));
    const ofNode = (await this.#components.node?.lookup(pod, repository, signal)) ?? [];
    return [...own, ...ofNode];
  }

  async #read(secrets: readonly Secret[], repository: string, signal: AbortSignal): Promise<readonly LoginOfSecret[]> {
    const keyring = new Keyring<LoginOfSecret>(repository);
    for (const secret of secrets) {
      if (this.#add(keyring, secret) > MANY_LOGINS) await sleep(this.#components.clock, 0, signal);
    }
    return keyring.lookup(repository);
  }

  /** @returns the number of logins in the secret; logins that do not match are dropped before other work gets a turn */
  #add(keyring: Keyring<LoginOfSecret>, secret: Secret): number {
    const logins = pullSecretLogins(secret);
    if (logins === undefined) return 0;
    const invalid = keyring.add(Array.from(logins, ([registry, login]) => [registry, { login, secret }] as const));
    if (invalid.length > 0) {
      const fields = {
        secret: secret.metadata.name,
        registries: invalid.slice(0, MAX_TOLD).map(shown),
        count: invalid.length,
      };
      this.#components.logger.error(fields, 'Invalid registries in a pull secret');
    }
    return logins.size;
  }

  async #secretsOf(pod: Pod, signal: AbortSignal): Promise<readonly Secret[]> {
    const { secrets, recorder, logger } = this.#components;
    const found: Secret[] = [];
    const failed: string[] = [];
    for (const { name = '' } of pod.spec.imagePullSecrets ?? []) {
      // The API's validation accepts references without a name (k/k#99454).
      if (name === '') continue;
      try {
        if (secrets === undefined) throw new ObjectCacheError('NotRegistered', 'there is no API server');
        found.push(await secrets.getSecret(pod.metadata.namespace, name, signal));
      } catch (error) {
        signal.throwIfAborted();
        logger.info({ err: error, podUid: pod.metadata.uid, secret: name }, 'Failed to retrieve a pull secret');
        failed.push(name);
      }
    }
    if (failed.length > 0) {
      const message = `Unable to retrieve some image pull secrets (${failed.join(', ')}); attempting to pull the image may not succeed.`;
      recorder.event(podReference(pod), 'Warning', 'FailedToRetrieveImagePullSecret', message);
    }
    return found;
  }
}

/** Returns a login with its owner. Hashing takes time, so only returned logins are hashed. */
function ofSecret({ login, secret }: LoginOfSecret, pod: Pod): RegistryLogin {
  const { uid = '', namespace = pod.metadata.namespace, name = '' } = secret.metadata;
  const { username, password } = login;
  const source = { secret: { uid, namespace, name, credentialHash: credentialHash(login) } };
  return { username, password, source };
}

/** The formats of pull secrets: their type, the key of their data, and their parser. */
const FORMATS: readonly (readonly [type: string, key: string, parse: (text: string) => DockerConfig])[] = [
  ['kubernetes.io/dockerconfigjson', '.dockerconfigjson', parseDockerConfigJson],
  ['kubernetes.io/dockercfg', '.dockercfg', parseDockercfg],
];

/**
 * Parses the logins of a secret. Returns `undefined` if it is not a pull secret. @throws ObjectCacheError
 * `InvalidPullSecret`
 */
function pullSecretLogins({
  metadata,
  type,
  data,
}: Pick<Secret, 'metadata' | 'type' | 'data'>): DockerConfig | undefined {
  for (const [ofType, key, parse] of FORMATS) {
    const base64 = type === ofType ? (data?.[key] ?? '') : '';
    if (base64 === '') continue;
    try {
      return parse(Buffer.from(base64, 'base64').toString());
    } catch (error) {
      // The cause is left out, because it may contain the secret (W4).
      const message = `secret "${metadata.namespace}/${metadata.name}": ${key}: ${errorText(error)}`;
      throw new ObjectCacheError('InvalidPullSecret', message);
    }
  }
  return undefined;
}
