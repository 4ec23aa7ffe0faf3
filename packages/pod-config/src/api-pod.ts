import { checkPod, type FieldError, type PodReference } from '@node-agent/pod-spec';

/** An object from the API server's pod list that has not been checked. */
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
 * Returns why an object of the API server cannot be run as a pod; `undefined` if it can. Unknown fields are ignored,
 * because a newer API server has more. The check covers the types of the known fields, the fields that every sync
 * needs, and the names that become parts of paths (log directories, links, volumes).
 */
export function apiPodProblem(object: unknown): string | undefined {
  const wrong = checkPod(object).find((error) => error.type !== 'Unknown field' && !isLargeInteger(error));
  if (wrong !== undefined) return wrong.field === '' ? wrong.message : `${wrong.field}: ${wrong.message}`;
  // The types were checked, but not the presence of fields.
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

/**
 * Returns whether the problem is an integer beyond JavaScript's exact integers. An int64 of the API may be so large,
 * and its pod can run.
 */
function isLargeInteger({ badValue, detail }: FieldError): boolean {
  return detail.startsWith('must be an integer') && Number.isInteger(badValue);
}

/** Returns the UID of an object of the API server, regardless of other problems. */
export function uidOf(object: unknown): string | undefined {
  const uid = (object as Untrusted | null | undefined)?.metadata?.uid;
  return typeof uid === 'string' ? uid : undefined;
}

/**
 * Returns the reference for an event about an object that cannot be run as a pod. A namespace that is not a valid path
 * segment is replaced, because it would send the event's request to another path.
 */
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
