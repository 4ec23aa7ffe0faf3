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

/** What {@link ImagePullRecords} works with. */
export interface ImagePullRecordsComponents extends PullRecordFilesComponents {
  readonly images: Pick<ImageService, 'listImages'>;
  /** The machine's own where absent. */
  readonly clock?: Clock;
}

/** How {@link ImagePullRecords} is set. */
export interface ImagePullRecordsOptions {
  /** The kubelet's; records are in `image_manager` below it. */
  readonly rootDirectory: string;
  /** `imagePullCredentialsVerificationPolicy`; `NeverVerifyPreloadedImages` by default. */
  readonly policy?: VerificationPolicy;
  /** `preloadedImagesVerificationAllowlist`: valid, as the configuration's validation has it. */
  readonly allowlist?: readonly string[];
  /** How often records of images that are gone are looked for, in ms; 5 min by default, as upstream's image collection. */
  readonly prunePeriodMs?: number;
}

type CheckResult = 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate' | 'error';

/**
 * Remembers with whose credentials each image was pulled, so that what one tenant's secret has brought to the node is not
 * everybody's (KEP-2535, `pkg/kubelet/images/pullmanager`). What is in doubt has to be shown by a pull: a record that
 * cannot be read, a pull that a kubelet did not live to record.
 */
export class ImagePullRecords implements PullRecords {
  readonly #components: WithDefaults<ImagePullRecordsComponents>;
  readonly #policy: VerificationPolicy;
  readonly #allowlist: readonly string[];
  readonly #prunePeriodMs: number;
  readonly #files: PullRecordFiles;
  readonly #intentLocks = new KeyedMutex<string>();
  readonly #recordLocks = new KeyedMutex<string>();
  /** For each look at the images that are gone, those that were pulled since it began: their records stay, also where they say nothing new. */
  readonly #prunes = new Set<Set<string>>();
  /** How many pulls of an image are under way in this process. */
  readonly #pulls = new Map<string, number>();
  /** Images that a former process had begun to pull: whether they came is not known. Read before the first pull. */
  #inherited: Promise<Set<string>> | undefined;
  readonly #checks: Counter<'result'>;
  readonly #startOnce = new StartOnce('ImagePullRecords');

  /** @throws OptionsError naming the component or option that is wrong */
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
      help: 'How often it was looked at whether a pod may use an image that is present, by how that ended.',
      labels: ['result'],
    });
  }

  /** Takes in what a former process had begun to pull, then drops records of images that are gone, until `signal` is aborted. */
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
    await attempt('Pulls that a former process began are not looked at', () => this.#takeIn(signal));
    const prune = (): Promise<void> =>
      attempt('Records of images that are gone are not removed', () => this.prune(signal));
    await every(clock, this.#prunePeriodMs, prune, signal);
  }

  /** Drops records of images that are gone: whoever has removed images calls it. @throws where the images or the records cannot be listed */
  async prune(signal: AbortSignal): Promise<void> {
    const { clock, images, logger } = this.#components;
    // Times on the disk are whole seconds: what was updated in this one is newer than the list, or may be.
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
          .catch((err: unknown) => logger.error({ err, imageRef }, 'The record of an image could not be removed'));
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

  /** @throws where it cannot be written: a pull that is not on record would make the image look preloaded later */
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
      // The intent stays: the image still counts as pulled, and the next process tries again to record it.
      this.#components.logger.error({ err, image, imageRef }, 'A pull could not be recorded');
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
        // That this pull failed says nothing of what a former process may have brought to the node.
        if (!(await this.#inherit()).has(image)) await this.#files.deleteIntent(image);
        this.#pulls.delete(image);
      } catch (err) {
        this.#components.logger.error({ err, image }, 'The record of a pull that has ended could not be removed');
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
      logger.error({ err, image, imageRef }, 'Records of pulls cannot be read: the image is pulled again');
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
        logger.error({ err, image, imageRef }, 'A credential that is as good as a recorded one could not be recorded'),
      );
    }
    return allowed ? 'credentialRecordFound' : 'mustAuthenticate';
  }

  async #isPreloaded(image: string, names: readonly string[], record: PulledRecord): Promise<boolean> {
    if (!isPreloadedAs(image, names, record, [])) return false;
    return isPreloadedAs(image, names, record, await this.#files.listIntents());
  }

  /** @param added empty if the image was pulled, and its credentials are unknown */
  async #record(image: string, imageRef: string, added: RecordedCredentials): Promise<void> {
    const { clock, logger } = this.#components;
    const name = untaggedName(image);
    if (name === undefined) throw new Error(`invalid image name ${JSON.stringify(image)}`);
    await this.#recordLocks.run(imageRef, async () => {
      for (const pulledSince of this.#prunes) pulledSince.add(imageRef);
      const known = await this.#files.readRecord(imageRef).catch((err: unknown) => {
        logger.error({ err, imageRef }, 'The record of an image cannot be read: it is made anew');
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
          // A pull of it may have begun: what is on record is that one's too.
          if (!this.#pulls.has(image)) await this.#files.deleteIntent(image);
        });
      }
    }
  }

  /** @throws where the records cannot be listed: the next caller tries again */
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

/** What of a pod's credentials is its own; the node's are everybody's, and known where they count. */
function podCredentials(credentials: readonly PullCredential[]): PodCredentials {
  const sources = credentials.map(({ source }) => source).filter((source) => source !== undefined);
  return {
    secrets: sources.flatMap((source) => ('secret' in source ? [secretOf(source.secret)] : [])),
    serviceAccount: sources.flatMap((source) => ('serviceAccount' in source ? [source.serviceAccount] : []))[0],
  };
}
