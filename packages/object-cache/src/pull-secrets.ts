import { imageRepository, type Pod, parseImageReference, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, errorText, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type DockerConfig, parseDockerConfigJson, parseDockercfg, type RegistryLogin } from './docker-config.ts';
import { ObjectCacheError } from './errors.ts';
import { Keyring } from './keyring.ts';
import { credentialHash, loginsWithSource } from './login-source.ts';
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
  /** Nobody is told where absent. */
  readonly recorder?: EventRecorder;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Tried after the pod's own. */
  readonly node?: NodeCredentials;
}

/**
 * The credentials that a pod's images are pulled with: those of its `imagePullSecrets`, then the node's. It is the port
 * `PullCredentials` of `images`. Source: `pkg/credentialprovider/secrets`, `pkg/kubelet/kubelet_pods.go`, getPullSecretsForPod.
 */
export class PullSecrets {
  readonly #components: WithDefaults<PullSecretsComponents>;

  constructor(components: PullSecretsComponents) {
    this.#components = withDefaults(components);
  }

  /**
   * The logins to try, in this order. A secret that cannot be had is named in an event, and the pull goes on without it.
   * @throws ObjectCacheError `InvalidPullSecret` for a secret that is there and cannot be read
   */
  async lookup(pod: Pod, image: string, signal: AbortSignal): Promise<readonly RegistryLogin[]> {
    const repository = imageRepository(parseImageReference(image));
    const keyring = new Keyring();
    for (const secret of await this.#secretsOf(pod, signal)) {
      const { uid = '', namespace = pod.metadata.namespace, name = '' } = secret.metadata;
      const logins = loginsWithSource(pullSecretLogins(secret) ?? new Map(), (login) => ({
        secret: { uid, namespace, name, credentialHash: credentialHash(login) },
      }));
      const invalid = keyring.add(logins);
      for (const registry of invalid) {
        this.#components.logger.error(
          { secret: secret.metadata.name, registry },
          'A registry of a pull secret is invalid',
        );
      }
    }
    const own = keyring.lookup(repository);
    const ofNode = (await this.#components.node?.lookup(pod, repository, signal)) ?? [];
    return [...own, ...ofNode];
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
