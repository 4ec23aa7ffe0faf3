import { parseImageReference } from '@node-agent/pod-spec';
import type { Coordinates, CredentialSource } from './pull-credential.ts';

/** A secret that an image was pulled with. */
export type RecordedSecret = Coordinates & { readonly credentialHash: string };

/** Who may use an image by one of its names. */
export interface RecordedCredentials {
  readonly kubernetesSecrets?: readonly RecordedSecret[];
  readonly kubernetesServiceAccounts?: readonly Coordinates[];
  /** All pods of the node; without the other two then. */
  readonly nodePodsAccessible?: boolean;
}

/** With what an image was pulled (`kubelet.config.k8s.io`, ImagePulledRecord). */
export interface PulledRecord {
  /** By the wall clock, in milliseconds since the epoch; whole seconds on the disk. */
  readonly lastUpdatedMs: number;
  /** What the runtime calls the image. */
  readonly imageRef: string;
  /** By the image's name in the pod, without tag and digest. */
  readonly credentialMapping: Readonly<Record<string, RecordedCredentials>>;
}

/** While there are fewer secrets in a record, those that are found to be as good are added to it. */
const MAX_SECRETS_WHILE_MATCHING = 100;

/** What a pod can show. */
export interface PodCredentials {
  readonly secrets: readonly RecordedSecret[];
  readonly serviceAccount: Coordinates | undefined;
}

/** What is recorded of the credential that a pull succeeded with; one without a source, or none at all, is all pods'. */
export function recordedCredentials(source: CredentialSource | undefined): RecordedCredentials {
  if (source === undefined) return { nodePodsAccessible: true };
  if ('secret' in source) return { kubernetesSecrets: [secretOf(source.secret)] };
  const { uid, namespace, name } = source.serviceAccount;
  return { kubernetesServiceAccounts: [{ uid, namespace, name }] };
}

/** A secret as a record has it: these fields, in this order. */
export function secretOf({ uid, namespace, name, credentialHash }: RecordedSecret): RecordedSecret {
  return { uid, namespace, name, credentialHash };
}

/**
 * Whether a pod that shows these credentials may use an image without a pull. `learn` is a secret that was found to be
 * as good as a recorded one: the same credential in another secret, or a recorded secret with a new credential.
 */
export function mayUse(
  recorded: RecordedCredentials,
  { secrets, serviceAccount }: PodCredentials,
): { readonly allowed: boolean; readonly learn?: RecordedSecret } {
  const { kubernetesSecrets = [], kubernetesServiceAccounts = [], nodePodsAccessible = false } = recorded;
  if (nodePodsAccessible) return { allowed: true };
  const mayLearn = kubernetesSecrets.length < MAX_SECRETS_WHILE_MATCHING;
  for (const secret of secrets) {
    for (const known of kubernetesSecrets) {
      const sameHash = known.credentialHash !== '' && known.credentialHash === secret.credentialHash;
      const sameSecret = isSame(known, secret);
      if (sameHash) return { allowed: true, ...(!sameSecret && mayLearn && { learn: secret }) };
      if (sameSecret && mayLearn) return { allowed: true, learn: secret };
    }
  }
  const isKnownAccount =
    serviceAccount !== undefined && kubernetesServiceAccounts.some((known) => isSame(known, serviceAccount));
  return { allowed: isKnownAccount };
}

/**
 * Reports whether an image was on the node under a name before a kubelet pulled the same content under other names. The record of the image
 * must name what was pulled, and none of that may be of the same repository: spellings of one repository (`app`, `docker.io/library/app`) are
 * the same. The runtime must know the image by the name itself, as a runtime may resolve a short name to another registry.
 * @param names the tags and digests by which the runtime knows the image
 * @param intents the images that a kubelet has begun to pull
 */
export function isPreloadedAs(
  image: string,
  names: readonly string[],
  { credentialMapping }: Pick<PulledRecord, 'credentialMapping'>,
  intents: readonly string[],
): boolean {
  const pulled = Object.keys(credentialMapping);
  const repository = repositoryOf(image);
  // A record without any name is of a pull about which nothing else is known.
  if (repository === undefined || pulled.length === 0) return false;
  const isOther = (name: string): boolean => repositoryOf(name) !== repository;
  return [...pulled, ...intents].every(isOther) && !names.every(isOther);
}

/** Returns registry and path of an image, in one spelling; `undefined` if the image has no valid name. */
function repositoryOf(image: string): string | undefined {
  try {
    const { domain, path } = parseImageReference(image);
    return `${domain.toLowerCase()}/${path}`;
  } catch {
    return undefined;
  }
}

/**
 * A record with one more way to use the image; `undefined` where it says so already.
 * @param name the image's, without tag and digest
 */
export function withCredentials(
  record: PulledRecord,
  name: string,
  added: RecordedCredentials,
  nowMs: number,
): PulledRecord | undefined {
  const known = Object.hasOwn(record.credentialMapping, name) ? record.credentialMapping[name] : undefined;
  const merged = known === undefined ? added : mergeCredentials(known, added);
  if (merged === undefined || JSON.stringify(merged) === JSON.stringify(known)) return undefined;
  const credentialMapping = { ...record.credentialMapping, [name]: merged };
  return { ...record, credentialMapping, lastUpdatedMs: nowMs };
}

function mergeCredentials(known: RecordedCredentials, added: RecordedCredentials): RecordedCredentials | undefined {
  if (known.nodePodsAccessible) return undefined;
  if (added.nodePodsAccessible) return { nodePodsAccessible: true };
  const secrets = union(known.kubernetesSecrets, added.kubernetesSecrets);
  const accounts = union(known.kubernetesServiceAccounts, added.kubernetesServiceAccounts);
  return {
    ...(secrets.length > 0 && { kubernetesSecrets: secrets }),
    ...(accounts.length > 0 && { kubernetesServiceAccounts: accounts }),
  };
}

/** One of each, the newer where both have it, in order. */
function union<T extends Coordinates>(known: readonly T[] = [], added: readonly T[] = []): readonly T[] {
  const all = new Map<string, T>();
  for (const one of [...known, ...added]) all.set(JSON.stringify([one.namespace, one.name, one.uid]), one);
  return [...all.values()].sort(
    (a, b) => order(a.namespace, b.namespace) || order(a.name, b.name) || order(a.uid, b.uid),
  );
}

function order(a: string, b: string): number {
  return Number(a > b) - Number(a < b);
}

function isSame(a: Coordinates, b: Coordinates): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;
}
