import { type Clock, checkComponents, checkOptions, every, KeyedMutex, StartOnce } from '@node-agent/async';
import type { ImageService } from '@node-agent/cri-client';
import { type Counter, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { PullRecords } from './image-manager.ts';
import type { CredentialSource, PullCredential } from './pull-credential.ts';
import {
  isPreloadedAs,
  mayUse,
  type PodCredentials,
  type PulledRecord,
  type RecordedCredentials,
  recordedCredentials,
  secretOf,
  withCredentials,
} from './pull-record.ts';
import { PullRecordFiles, type PullRecordFilesComponents } from './pull-record-files.ts';
import { requiresVerification, untaggedName, type VerificationPolicy } from './verification-policy.ts';

/** Components of {@link ImagePullRecords}. */
export interface ImagePullRecordsComponents extends PullRecordFilesComponents {
  readonly images: Pick<ImageService, 'listImages'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
}

/** Options of {@link ImagePullRecords}. */
export interface ImagePullRecordsOptions {
  /** Root directory of the kubelet; the records are in its subdirectory `image_manager`. */
  readonly rootDirectory: string;
  /** `imagePullCredentialsVerificationPolicy`. Default: `NeverVerifyPreloadedImages`. */
  readonly policy?: VerificationPolicy;
  /** `preloadedImagesVerificationAllowlist`, already validated by the configuration. */
  readonly allowlist?: readonly string[];
  /**
   * Interval of removing the records of images that no longer exist, in ms. Default: 5 min, as upstream's image garbage
   * collection.
   */
  readonly prunePeriodMs?: number;
}

type CheckResult = 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate' | 'error';

/**
 * Records with whose credentials each image was pulled, so that an image pulled with one tenant's secret is not
 * available to every pod (KEP-2535, `pkg/kubelet/images/pullmanager`). In case of doubt a pull is required: if a record
 * cannot be read, or if a kubelet died before it recorded the result of a pull.
 */
export class ImagePullRecords implements PullRecords {
  readonly #components: WithDefaults<ImagePullRecordsComponents>;
  readonly #policy: VerificationPolicy;
  readonly #allowlist: readonly string[];
  readonly #prunePeriodMs: number;
  readonly #files: PullRecordFiles;
  readonly #intentLocks = new KeyedMutex<string>();
  readonly #recordLocks = new KeyedMutex<string>();
  /**
   * For each prune in progress, the images pulled since its start. The records of these images are kept, even if the
   * records were not changed.
   */
  readonly #prunes = new Set<Set<string>>();
  /** Number of pulls in progress in this process, by image. */
  readonly #pulls = new Map<string, number>();
  /**
   * Images whose pull an earlier process started with unknown result. The intents are read from disk before the first
   * pull.
   */
  #inherited: Promise<Set<string>> | undefined;
  readonly #checks: Counter<'result'>;
  readonly #startOnce = new StartOnce('ImagePullRecords');

  /** @throws OptionsError naming the component or option that is not valid */
  constructor(given: ImagePullRecordsComponents, options: ImagePullRecordsOptions) {
    checkOptions('ImagePullRecords', options, {
      rootDirectory: 'string',
      policy: [undefined, 'NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify'],
      allowlist: 'list?',
      prunePeriodMs: 'positive?',
    });
    checkComponents('ImagePullRecords', given, {
      images: ['listImages'],
      fs: ['mkdir', 'open', 'readdir', 'remove', 'writeFileAtomic'],
    });
    const components = withDefaults(given);
    this.#components = components;
    this.#policy = options.policy ?? 'NeverVerifyPreloadedImages';
    this.#allowlist = options.allowlist ?? [];
    const { prunePeriodMs = 300_000 } = options;
    this.#prunePeriodMs = prunePeriodMs;
    this.#files = new PullRecordFiles(components, options.rootDirectory);
    this.#checks = components.metrics.counter({
      name: 'kubelet_imagemanager_image_mustpull_checks_total',
      help: 'Number of checks whether a pod may use an image that is on the node, by result.',
      labels: ['result'],
    });
  }

  /**
   * Reads the pulls that an earlier process started, then periodically removes records of images that no longer exist,
   * until `signal` is aborted.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, logger } = this.#components;
    const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (err) {
        if (!signal.aborted) logger.warn({ err }, what);
      }
    };
    await attempt('Cannot read the pulls that an earlier process started', () => this.#takeIn(signal));
    const prune = (): Promise<void> =>
      attempt('Cannot remove records of images that no longer exist', () => this.prune(signal));
    await every(clock, this.#prunePeriodMs, prune, signal);
  }

  /**
   * Removes records of images that no longer exist. Must be called after images were removed. @throws if the images or
   * the records cannot be listed
   */
  async prune(signal: AbortSignal): Promise<void> {
    const { clock, images, logger } = this.#components;
    // Stored times are whole seconds: a record updated in the current second may be newer than the list of images.
    const untilMs = Math.floor(clock.now() / 1000) * 1000;
    const pulledSince = new Set<string>();
    this.#prunes.add(pulledSince);
    try {
      const present = new Set((await images.listImages({}, signal)).images.map(({ id }) => id));
      for (const { imageRef, lastUpdatedMs } of await this.#files.listRecords()) {
        if (lastUpdatedMs >= untilMs || present.has(imageRef)) continue;
        await this.#recordLocks
          .run(imageRef, async () => {
            if (!pulledSince.has(imageRef)) await this.#files.deleteRecord(imageRef);
          })
          .catch((err: unknown) => logger.error({ err, imageRef }, 'Cannot remove the record of an image'));
      }
    } finally {
      this.#prunes.delete(pulledSince);
    }
  }

  async mustPull(
    image: string,
    imageRef: string,
    credentials: () => Promise<readonly PullCredential[]>,
    names: readonly string[] = [],
  ): Promise<boolean> {
    let result: CheckResult = 'error';
    try {
      result = await this.#check(image, imageRef, credentials, names);
    } finally {
      this.#checks.inc({ result });
    }
    return result === 'mustAuthenticate' || result === 'error';
  }

  /**
   * Records the start of a pull.
   * @throws if the intent cannot be written: an image pulled without a record would later count as preloaded
   */
  async intent(image: string): Promise<void> {
    await this.#inherit();
    await this.#intentLocks.run(image, async () => {
      await this.#files.writeIntent(image);
      this.#pulls.set(image, (this.#pulls.get(image) ?? 0) + 1);
    });
  }

  async pulled(image: string, imageRef: string, source: CredentialSource | undefined): Promise<void> {
    try {
      await this.#record(image, imageRef, recordedCredentials(source));
    } catch (err) {
      // The intent is kept: the image still counts as pulled, and the next process tries to record it again.
      this.#components.logger.error({ err, image, imageRef }, 'Cannot record a pull');
      return;
    }
    (await this.#inherit()).delete(image);
    await this.failed(image);
  }

  async failed(image: string): Promise<void> {
    await this.#intentLocks.run(image, async () => {
      const left = (this.#pulls.get(image) ?? 0) - 1;
      if (left > 0) {
        this.#pulls.set(image, left);
        return;
      }
      try {
        // Even if this pull failed, the pull of an earlier process may have succeeded; its intent is kept.
        if (!(await this.#inherit()).has(image)) await this.#files.deleteIntent(image);
        this.#pulls.delete(image);
      } catch (err) {
        this.#components.logger.error({ err, image }, 'Cannot remove the intent of a finished pull');
      }
    });
  }

  async #check(
    image: string,
    imageRef: string,
    credentials: () => Promise<readonly PullCredential[]>,
    names: readonly string[],
  ): Promise<CheckResult> {
    const { logger } = this.#components;
    let record: PulledRecord | undefined;
    let isKnown: boolean;
    try {
      record = await this.#recordLocks.run(imageRef, () => this.#files.readRecord(imageRef));
      const intended = this.#pulls.has(image) || (await this.#files.hasIntent(image));
      isKnown = intended || (record !== undefined && !(await this.#isPreloaded(image, names, record)));
    } catch (err) {
      logger.error({ err, image, imageRef }, 'Cannot read pull records: the image is pulled again');
      return 'error';
    }
    if (!requiresVerification(this.#policy, this.#allowlist, image, isKnown)) return 'credentialPolicyAllowed';
    const name = untaggedName(image);
    if (record === undefined || name === undefined) return 'mustAuthenticate';
    const recorded = Object.hasOwn(record.credentialMapping, name) ? record.credentialMapping[name] : undefined;
    if (recorded === undefined) return 'mustAuthenticate';
    if (recorded.nodePodsAccessible) return 'credentialRecordFound';
    if (!recorded.kubernetesSecrets?.length && !recorded.kubernetesServiceAccounts?.length) return 'mustAuthenticate';
    const { allowed, learn } = mayUse(recorded, podCredentials(await credentials()));
    if (learn !== undefined) {
      await this.#record(image, imageRef, { kubernetesSecrets: [learn] }).catch((err: unknown) =>
        logger.error({ err, image, imageRef }, 'Cannot record an equivalent credential'),
      );
    }
    return allowed ? 'credentialRecordFound' : 'mustAuthenticate';
  }

  async #isPreloaded(image: string, names: readonly string[], record: PulledRecord): Promise<boolean> {
    if (!isPreloadedAs(image, names, record, [])) return false;
    return isPreloadedAs(image, names, record, await this.#files.listIntents());
  }

  /** Adds credentials to the record of an image. @param added empty if the image was pulled with unknown credentials */
  async #record(image: string, imageRef: string, added: RecordedCredentials): Promise<void> {
    const { clock, logger } = this.#components;
    const name = untaggedName(image);
    if (name === undefined) throw new Error(`invalid image name ${JSON.stringify(image)}`);
    await this.#recordLocks.run(imageRef, async () => {
      for (const pulledSince of this.#prunes) pulledSince.add(imageRef);
      const known = await this.#files.readRecord(imageRef).catch((err: unknown) => {
        logger.error({ err, imageRef }, 'Cannot read the record of an image: it is replaced');
        return undefined;
      });
      const nowMs = clock.now();
      const base = known ?? { imageRef, lastUpdatedMs: nowMs, credentialMapping: {} };
      const record = withCredentials(base, name, added, nowMs) ?? (known === undefined ? base : undefined);
      if (record !== undefined) await this.#files.writeRecord(record);
    });
  }

  async #takeIn(signal: AbortSignal): Promise<void> {
    const inherited = await this.#inherit();
    if (inherited.size === 0) return;
    const { images } = await this.#components.images.listImages({}, signal);
    for (const { id, repoTags, repoDigests } of images) {
      for (const image of [...inherited]) {
        if (!repoTags.includes(image) && !repoDigests.includes(image)) continue;
        await this.#record(image, id, {});
        inherited.delete(image);
        await this.#intentLocks.run(image, async () => {
          // Another pull of the image may have started; the intent then belongs to that pull, too.
          if (!this.#pulls.has(image)) await this.#files.deleteIntent(image);
        });
      }
    }
  }

  /**
   * Returns the images whose pull an earlier process started with unknown result.
   * @throws if the records cannot be listed; the next call tries again
   */
  #inherit(): Promise<Set<string>> {
    this.#inherited ??= this.#files
      .listIntents()
      .then((images) => new Set(images))
      .catch((error: unknown) => {
        this.#inherited = undefined;
        throw error;
      });
    return this.#inherited;
  }
}

/** Returns the pod's own credentials. Credentials of the node are available to all pods and need no entry. */
function podCredentials(credentials: readonly PullCredential[]): PodCredentials {
  const sources = credentials.map(({ source }) => source).filter((source) => source !== undefined);
  return {
    secrets: sources.flatMap((source) => ('secret' in source ? [secretOf(source.secret)] : [])),
    serviceAccount: sources.flatMap((source) => ('serviceAccount' in source ? [source.serviceAccount] : []))[0],
  };
}
