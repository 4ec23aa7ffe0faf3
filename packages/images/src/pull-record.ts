import { parseImageReference } from '@node-agent/pod-spec';
import type { Coordinates, CredentialSource } from './pull-credential.ts';

/** A secret with which an image was pulled. */
export type RecordedSecret = Coordinates & { readonly credentialHash: string };

/** Pods that may use an image under one of its names. */
export interface RecordedCredentials {
  readonly kubernetesSecrets?: readonly RecordedSecret[];
  readonly kubernetesServiceAccounts?: readonly Coordinates[];
  /** Set if all pods of the node may use the image; the other two fields are then absent. */
  readonly nodePodsAccessible?: boolean;
}

/** Credentials with which an image was pulled (`kubelet.config.k8s.io`, ImagePulledRecord). */
export interface PulledRecord {
  /** Wall clock time in milliseconds since the epoch; stored with a resolution of one second. */
  readonly lastUpdatedMs: number;
  /** The runtime's reference of the image. */
  readonly imageRef: string;
  /** Credentials by the image's name in the pod, without tag and digest. */
  readonly credentialMapping: Readonly<Record<string, RecordedCredentials>>;
}

/** Secrets that turn out to be equivalent are added to a record until it has this many. */
const MAX_SECRETS_WHILE_MATCHING = 100;

/** Credentials that a pod can present. */
export interface PodCredentials {
  readonly secrets: readonly RecordedSecret[];
  readonly serviceAccount: Coordinates | undefined;
}

/**
 * Returns the record entry for the credential of a successful pull. A pull without a credential, or with one that
 * belongs to the node, allows all pods.
 */
export function recordedCredentials(source: CredentialSource | undefined): RecordedCredentials {
  if (source === undefined) return { nodePodsAccessible: true };
  if ('secret' in source) return { kubernetesSecrets: [secretOf(source.secret)] };
  const { uid, namespace, name } = source.serviceAccount;
  return { kubernetesServiceAccounts: [{ uid, namespace, name }] };
}

/** Returns a secret with exactly the fields of a record, in the record's order. */
export function secretOf({ uid, namespace, name, credentialHash }: RecordedSecret): RecordedSecret {
  return { uid, namespace, name, credentialHash };
}

/**
 * Returns whether a pod with these credentials may use an image without a pull. `learn` is a secret equivalent to a
 * recorded one: the same credential in another secret, or a recorded secret with a new credential.
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
 * Returns whether an image was on the node under a name before a kubelet pulled the same content under other names. The
 * image's record must contain the pulled names, and none of these names may belong to the same repository (`app` and
 * `docker.io/library/app` are the same). The runtime must list the image under the name itself, because a runtime may
 * resolve a short name to another registry.
 * @param names tags and digests by which the runtime knows the image
 * @param intents images whose pull a kubelet has started
 */
export function isPreloadedAs(
  image: string,
  names: readonly string[],
  { credentialMapping }: Pick<PulledRecord, 'credentialMapping'>,
  intents: readonly string[],
): boolean {
  const pulled = Object.keys(credentialMapping);
  const repository = repositoryOf(image);
  // A record without names belongs to a pull about which nothing else is known.
  if (repository === undefined || pulled.length === 0) return false;
  const isOther = (name: string): boolean => repositoryOf(name) !== repository;
  return [...pulled, ...intents].every(isOther) && !names.every(isOther);
}

/** Returns the registry and path of an image in a canonical form; `undefined` if the image has no valid name. */
function repositoryOf(image: string): string | undefined {
  try {
    const { domain, path } = parseImageReference(image);
    return `${domain.toLowerCase()}/${path}`;
  } catch {
    return undefined;
  }
}

/**
 * Returns the record with an additional credential; `undefined` if the record already contains it.
 * @param name name of the image without tag and digest
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

/** Merges two lists without duplicates, sorted; the added entry replaces an equal known entry. */
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
