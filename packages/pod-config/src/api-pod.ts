import { checkPod, type FieldError, type PodReference } from '@node-agent/pod-spec';

/** An object of the API server's list of pods, of which nothing is known yet. */
interface Untrusted {
  readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown; readonly uid?: unknown } | null;
  readonly spec?: {
    readonly containers?: readonly Named[] | null;
    readonly initContainers?: readonly Named[] | null;
    readonly ephemeralContainers?: readonly Named[] | null;
    readonly volumes?: readonly Named[] | null;
  } | null;
}

interface Named {
  readonly name?: unknown;
}

/**
 * Says why an object of the API server cannot be run as a pod; `undefined` if it can. Fields that are unknown here are
 * left alone: a newer API server has more. Checked are the types of the others, the fields without which no pod can be
 * synced, and the names that become parts of paths (log directories, links, volumes).
 */
export function apiPodProblem(object: unknown): string | undefined {
  const wrong = checkPod(object).find((error) => error.type !== 'Unknown field' && !isLargeInteger(error));
  if (wrong !== undefined) return wrong.field === '' ? wrong.message : `${wrong.field}: ${wrong.message}`;
  // The types were checked; what is missing was not.
  const { metadata, spec } = object as Untrusted;
  for (const field of ['uid', 'namespace', 'name'] as const) {
    const problem = pathSegmentProblem(metadata?.[field]);
    if (problem !== undefined) return `metadata.${field}: ${problem}`;
  }
  if (spec === undefined || spec === null) return 'spec: Required value';
  if (!spec.containers?.length) return 'spec.containers: Required value';
  for (const list of ['containers', 'initContainers', 'ephemeralContainers', 'volumes'] as const) {
    for (const [index, { name }] of (spec[list] ?? []).entries()) {
      const problem = pathSegmentProblem(name);
      if (problem !== undefined) return `spec.${list}[${index}].name: ${problem}`;
    }
  }
  return undefined;
}

/** An int64 of the API may be larger than the integers that JavaScript has; the pod runs all the same. */
function isLargeInteger({ badValue, detail }: FieldError): boolean {
  return detail.startsWith('must be an integer') && Number.isInteger(badValue);
}

/** The UID of an object of the API server, whatever else is wrong with it. */
export function uidOf(object: unknown): string | undefined {
  const uid = (object as Untrusted | null | undefined)?.metadata?.uid;
  return typeof uid === 'string' ? uid : undefined;
}

/** What an event about such an object refers to: a namespace that is no part of a path would lead the request elsewhere. */
export function brokenPodReference(object: unknown): PodReference {
  const { name, namespace } = (object as Untrusted | null | undefined)?.metadata ?? {};
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    namespace: pathSegmentProblem(namespace) === undefined ? String(namespace) : 'default',
    name: typeof name === 'string' ? name : '',
    uid: uidOf(object) ?? '',
  };
}

function pathSegmentProblem(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return 'Required value';
  if (!/^\.{1,2}$|[/\0]/.test(value)) return undefined;
  return `Invalid value: ${JSON.stringify(value)}: must be usable as part of a path`;
}
