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

/** Finds logins of the node's own for an image that a pod wants, such as its credential provider plugins give. */
export interface NodeCredentials {
  /** @param repository with its registry and without a tag: `docker.io/library/busybox` */
  lookup(pod: Pod, repository: string, signal: AbortSignal): Promise<readonly RegistryLogin[]>;
}

/** What {@link PullSecrets} works with. */
export interface PullSecretsComponents {
  /** Absent where there is no API server: pods are told then that their secrets cannot be had. */
  readonly secrets?: Pick<ObjectCache, 'getSecret'>;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Nobody is told where absent. */
  readonly recorder?: EventRecorder;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Tried after the pod's own. */
  readonly node?: NodeCredentials;
}

/** A login, and the secret that has it. */
interface LoginOfSecret {
  readonly login: ConfiguredLogin;
  readonly secret: Secret;
}

/** After a secret with more others have their turn. */
const MANY_LOGINS = 1000;
/** So many registries that make no sense are named. */
const MAX_TOLD = 10;

/**
 * The credentials that a pod's images are pulled with: those of its `imagePullSecrets`, then the node's. It is the port
 * `PullCredentials` of `images`. Source: `pkg/credentialprovider/secrets`, `pkg/kubelet/kubelet_pods.go`, getPullSecretsForPod.
 */
export class PullSecrets {
  readonly #components: WithDefaults<PullSecretsComponents>;
  /** By the UIDs of pods. */
  readonly #reading = new KeyedMutex<string>();

  constructor(components: PullSecretsComponents) {
    this.#components = withDefaults(components);
  }

  /**
   * The logins to try, in this order. A secret that cannot be had is named in an event, and the pull goes on without it.
   * @throws ObjectCacheError `InvalidPullSecret` for a secret that is there and cannot be read
   */
  async lookup(pod: Pod, image: string, signal: AbortSignal): Promise<readonly RegistryLogin[]> {
    const repository = imageRepository(parseImageReference(image));
    const secrets = await this.#secretsOf(pod, signal);
    // A pod may name any number of secrets, and of images at once, each of which takes its time.
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

  /** @returns how many logins the secret has: none of those that are not meant is held when others have their turn */
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
      this.#components.logger.error(fields, 'Registries of a pull secret are invalid');
    }
    return logins.size;
  }

  async #secretsOf(pod: Pod, signal: AbortSignal): Promise<readonly Secret[]> {
    const { secrets, recorder, logger } = this.#components;
    const found: Secret[] = [];
    const failed: string[] = [];
    for (const { name = '' } of pod.spec.imagePullSecrets ?? []) {
      // Validation lets references without a name through (k/k#99454).
      if (name === '') continue;
      try {
        if (secrets === undefined) throw new ObjectCacheError('NotRegistered', 'there is no API server');
        found.push(await secrets.getSecret(pod.metadata.namespace, name, signal));
      } catch (error) {
        signal.throwIfAborted();
        logger.info({ err: error, podUid: pod.metadata.uid, secret: name }, 'Unable to retrieve a pull secret');
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

/** The login as it is shown to registries, and whose it is: found out of what is shown alone. */
function ofSecret({ login, secret }: LoginOfSecret, pod: Pod): RegistryLogin {
  const { uid = '', namespace = pod.metadata.namespace, name = '' } = secret.metadata;
  const { username, password } = login;
  const source = { secret: { uid, namespace, name, credentialHash: credentialHash(login) } };
  return { username, password, source };
}

/** The formats of secrets for pulls: their type, the key of their data, and how it is read. */
const FORMATS: readonly (readonly [type: string, key: string, parse: (text: string) => DockerConfig])[] = [
  ['kubernetes.io/dockerconfigjson', '.dockerconfigjson', parseDockerConfigJson],
  ['kubernetes.io/dockercfg', '.dockercfg', parseDockercfg],
];

/** The logins of a secret; `undefined` where it is not one for pulls. @throws ObjectCacheError `InvalidPullSecret` */
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
      // No cause: what the text holds is not for logs (W4).
      const message = `secret "${metadata.namespace}/${metadata.name}": ${key}: ${errorText(error)}`;
      throw new ObjectCacheError('InvalidPullSecret', message);
    }
  }
  return undefined;
}
