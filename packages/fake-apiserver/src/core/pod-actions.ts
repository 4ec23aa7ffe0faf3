import { deleteObject, parseDeleteOptions } from './delete.ts';
import { ApiFailure, badRequest, conflict, notFound } from './failure.ts';
import { at, clone, isObject, type JsonObject, listAt, metadataOf, objectAt, textAt } from './json.ts';
import type { ServerState, Target } from './state.ts';
import { timestamp } from './time.ts';
import { preconditionFailed } from './update.ts';

const SUCCESS: JsonObject = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

/**
 * Binds a pod to a node (`pkg/registry/core/pod/storage/storage.go`).
 * @throws ApiFailure 400, 404, 409
 */
export function bindPod(
  state: ServerState,
  { definition, namespace, name }: Target,
  body: unknown,
  dryRun: boolean,
): JsonObject {
  const binding = isObject(body) ? body : {};
  const called = textAt(binding, 'metadata', 'name');
  if (called !== name) throw badRequest('name in URL does not match name in Binding object');
  const node = textAt(binding, 'target', 'name');
  const kind = textAt(binding, 'target', 'kind');
  if (kind !== '' && kind !== 'Node') {
    throw new ApiFailure({
      code: 500,
      message: `target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`,
    });
  }
  if (node === '') throw new ApiFailure({ code: 500, message: 'target.name: Required value' });
  const key = `${namespace}/${name}`;
  const old = state.store.get(definition.storage, key);
  if (old === undefined) throw notFound(definition, name);
  const about = { group: '', plural: 'pods/binding' };
  for (const [field, what] of [
    ['uid', 'UID'],
    ['resourceVersion', 'ResourceVersion'],
  ] as const) {
    const [wanted, found] = [textAt(binding, 'metadata', field), textAt(old, 'metadata', field)];
    if (wanted !== '' && wanted !== found) {
      throw conflict(definition, name, preconditionFailed(definition, key, what, wanted, found));
    }
  }
  const refusal = bindingRefusal(old, name);
  if (refusal !== undefined) throw conflict(about, name, refusal);
  const pod = clone(old);
  const metadata = metadataOf(pod);
  pod.spec = { ...objectAt(pod, 'spec'), nodeName: node };
  for (const field of ['annotations', 'labels']) {
    const added = objectAt(binding, 'metadata', field);
    if (Object.keys(added).length > 0) metadata[field] = { ...objectAt(metadata, field), ...added };
  }
  const scheduled = {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: timestamp(state.clock.now()),
  };
  const others = listAt(pod, 'status', 'conditions').filter((one) => textAt(one, 'type') !== 'PodScheduled');
  const { nominatedNodeName: _, ...status } = objectAt(pod, 'status');
  pod.status = { ...status, conditions: [...others, scheduled] };
  if (!dryRun) state.store.put(definition.storage, key, pod);
  return SUCCESS;
}

function bindingRefusal(pod: JsonObject, name: string): string | undefined {
  if (at(pod, 'metadata', 'deletionTimestamp') !== undefined) {
    return `pod ${name} is being deleted, cannot be assigned to a host`;
  }
  const node = textAt(pod, 'spec', 'nodeName');
  if (node !== '') return `pod ${name} is already assigned to node ${JSON.stringify(node)}`;
  if (listAt(pod, 'spec', 'schedulingGates').length > 0) return `pod ${name} has non-empty .spec.schedulingGates`;
  return undefined;
}

/**
 * Evicts a pod: deletes it and records the reason in a condition. Pod disruption budgets are not supported.
 * @throws ApiFailure 400, 404, 409
 */
export function evictPod(state: ServerState, target: Target, body: unknown, query: URLSearchParams): JsonObject {
  const eviction = isObject(body) ? body : {};
  const { definition, namespace, name } = target;
  if (textAt(eviction, 'metadata', 'name') !== name)
    throw badRequest('name in URL does not match name in Eviction object');
  const key = `${namespace}/${name}`;
  const pod = state.store.get(definition.storage, key);
  if (pod === undefined) throw notFound(definition, name);
  const options = parseDeleteOptions(eviction.deleteOptions, query);
  if (!options.dryRun) {
    const changed = clone(pod);
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'EvictionByEvictionAPI',
      message: 'Eviction API: evicting',
      lastProbeTime: null,
      lastTransitionTime: timestamp(state.clock.now()),
    };
    const others = listAt(pod, 'status', 'conditions').filter((one) => textAt(one, 'type') !== 'DisruptionTarget');
    changed.status = { ...objectAt(pod, 'status'), conditions: [...others, condition] };
    state.store.put(definition.storage, key, changed);
  }
  deleteObject(state, target, { ...options, resourceVersion: undefined });
  return SUCCESS;
}
