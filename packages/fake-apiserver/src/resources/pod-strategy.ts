import { defaultPod, type FieldError, type Pod, podQosClass, validatePod } from '@node-agent/pod-spec';
import { fieldError, forbidden } from '../core/failure.ts';
import {
  at,
  isObject,
  type JsonObject,
  listAt,
  metadataOf,
  numberAt,
  objectAt,
  same,
  setOrDelete,
  textAt,
} from '../core/json.ts';
import type { Strategy, WriteContext } from './definition.ts';

const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
const BUILT_IN_PRIORITIES: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

/**
 * Rules of pods (`pkg/registry/core/pod/strategy.go`, and the admission plug-ins that are enabled in every cluster).
 */
export const podStrategy: Strategy = {
  setDefaults(pod) {
    if (!isObject(pod.spec)) pod.spec = { containers: [] };
    const spec: JsonObject = { ...defaultPod(asPod(pod)).spec };
    spec.tolerations = withDefaultTolerations(listAt(spec, 'tolerations'));
    pod.spec = spec;
    if (isObject(pod.status)) pod.status = wholeStatus(pod.status);
  },

  prepareCreate(pod, context) {
    metadataOf(pod).generation = 1;
    const spec = objectAt(pod, 'spec');
    if (at(pod, 'metadata', 'annotations', MIRROR_ANNOTATION) === undefined) defaultServiceAccount(spec);
    setPriority(pod, spec, context);
    const gated = listAt(spec, 'schedulingGates').length > 0;
    const message = 'Scheduling is blocked due to non-empty scheduling gates';
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated', message }];
    pod.status = { phase: 'Pending', qosClass: podQosClass(asPod(pod)), ...(gated ? { conditions } : {}) };
  },

  prepareUpdate: bumpGeneration,

  prepareSubresource: {
    status(pod, old) {
      const status = objectAt(pod, 'status');
      // Clients that do not know these fields must not delete them.
      for (const name of ['qosClass', 'observedGeneration']) {
        if (!status[name]) setOrDelete(status, name, at(old, 'status', name));
      }
      pod.status = status;
      setOrDelete(metadataOf(pod), 'ownerReferences', at(old, 'metadata', 'ownerReferences'));
    },
    ephemeralcontainers: bumpGeneration,
    resize: bumpGeneration,
  },

  validate: (pod) => validatePod(asPod(pod)),
  // Ephemeral containers are forbidden in new pods only.
  validateExisting: ({ spec, ...pod }) => {
    const { ephemeralContainers: _, ...rest } = objectAt({ spec }, 'spec');
    return validatePod(asPod({ ...pod, spec: rest }));
  },
  validateUpdate: refuseSpecChanges,

  *validateStatus(pod, old) {
    const qosClass = at(pod, 'status', 'qosClass');
    if (qosClass !== at(old, 'status', 'qosClass')) {
      yield fieldError('Invalid value', 'status.qosClass', 'field is immutable', String(qosClass));
    }
    yield* refuseRevivals(pod, old);
  },

  gracePeriodSeconds(pod, requested) {
    const phase = textAt(pod, 'status', 'phase');
    if (textAt(pod, 'spec', 'nodeName') === '' || phase === 'Failed' || phase === 'Succeeded') return 0;
    const period = requested ?? numberAt(pod, 'spec', 'terminationGracePeriodSeconds') ?? 0;
    return period < 0 ? 1 : period;
  },
};

/** Casts a pod whose field types `checkPod` has verified. */
function asPod(pod: JsonObject): Pod {
  return pod as unknown as Pod;
}

/** Adds tolerations for five minutes on a lost node, as the admission plug-in `DefaultTolerationSeconds` does. */
function withDefaultTolerations(tolerations: readonly unknown[]): readonly unknown[] {
  const added = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
    .filter((key) => !tolerations.some((one) => tolerates(one, key)))
    .map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }));
  return [...tolerations, ...added];
}

function tolerates(toleration: unknown, taint: string): boolean {
  const [key, effect] = [textAt(toleration, 'key'), textAt(toleration, 'effect')];
  return (key === '' || key === taint) && (effect === '' || effect === 'NoExecute');
}

/** Adds the fields that Go's types always serialize, with empty values. */
function wholeStatus(status: JsonObject): JsonObject {
  const whole: JsonObject = { ...status };
  const each = (list: string, defaults: JsonObject): void => {
    if (Array.isArray(status[list])) {
      whole[list] = listAt(status, list).map((one) => ({ ...defaults, ...(isObject(one) ? one : {}) }));
    }
  };
  each('conditions', { lastProbeTime: null, lastTransitionTime: null });
  const container = { state: {}, lastState: {}, ready: false, restartCount: 0, image: '', imageID: '' };
  for (const list of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'])
    each(list, container);
  return whole;
}

function bumpGeneration(pod: JsonObject, old: JsonObject): void {
  if (!same(pod.spec, old.spec)) metadataOf(pod).generation = (numberAt(old, 'metadata', 'generation') ?? 0) + 1;
}

function defaultServiceAccount(spec: JsonObject): void {
  const name = textAt(spec, 'serviceAccountName') || 'default';
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}

function setPriority(pod: JsonObject, spec: JsonObject, context: WriteContext): void {
  let name = textAt(spec, 'priorityClassName');
  let found: JsonObject | undefined;
  if (name === '') {
    for (const one of context.all('priorityclasses')) if (one.globalDefault === true) found = one;
    name = textAt(found, 'metadata', 'name');
    if (name !== '') spec.priorityClassName = name;
  } else found = context.lookup('priorityclasses', name);
  const value = name === '' ? 0 : (BUILT_IN_PRIORITIES[name] ?? numberAt(found, 'value'));
  if (value === undefined) {
    const why = `no PriorityClass with name ${name} was found`;
    throw forbidden({ group: '', plural: 'pods' }, textAt(pod, 'metadata', 'name'), why);
  }
  spec.priority = value;
  spec.preemptionPolicy ??= textAt(found, 'preemptionPolicy') || 'PreemptLowerPriority';
}

/** Rejects changes of a pod's spec except for a few fields (`ValidatePodUpdate`). */
function* refuseSpecChanges(pod: JsonObject, old: JsonObject): Generator<FieldError> {
  const containers = listAt(pod, 'spec', 'containers');
  for (const list of ['containers', 'initContainers']) {
    const before = listAt(old, 'spec', list);
    const after = list === 'containers' ? containers : listAt(pod, 'spec', list);
    if (before.length !== after.length) {
      const why = `pod updates may not add or remove ${list === 'containers' ? 'containers' : 'init containers'}`;
      yield fieldError('Forbidden', `spec.${list}`, why);
      return;
    }
  }
  if (textAt(pod, 'spec', 'nodeName') !== textAt(old, 'spec', 'nodeName')) {
    yield fieldError('Forbidden', 'spec', SPEC_IMMUTABLE);
    return;
  }
  yield* refuseLostTolerations(pod, old);
  const deadline = numberAt(pod, 'spec', 'activeDeadlineSeconds');
  const oldDeadline = numberAt(old, 'spec', 'activeDeadlineSeconds');
  if (oldDeadline !== undefined && (deadline === undefined || deadline > oldDeadline)) {
    const why =
      deadline === undefined
        ? 'must not update from a positive integer to nil value'
        : 'must be less than or equal to previous value';
    yield fieldError('Invalid value', 'spec.activeDeadlineSeconds', why, deadline ?? '');
  }
  if (!same(frozen(pod), frozen(old))) yield fieldError('Forbidden', 'spec', SPEC_IMMUTABLE);
}

const SPEC_IMMUTABLE =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** Returns the immutable part of a pod's spec. */
function frozen(pod: JsonObject): JsonObject {
  const { tolerations: _, activeDeadlineSeconds: __, ...spec } = objectAt(pod, 'spec');
  const unnamed = (list: string): unknown[] =>
    listAt(spec, list).map((container) => ({ ...(isObject(container) ? container : {}), image: '' }));
  return { ...spec, containers: unnamed('containers'), initContainers: unnamed('initContainers') };
}

function* refuseLostTolerations(pod: JsonObject, old: JsonObject): Generator<FieldError> {
  const after = listAt(pod, 'spec', 'tolerations');
  const lost = listAt(old, 'spec', 'tolerations').some((before) => !after.some((one) => sameToleration(one, before)));
  if (lost)
    yield fieldError(
      'Forbidden',
      'spec.tolerations',
      'existing toleration can not be modified except its tolerationSeconds',
    );
}

function sameToleration(a: unknown, b: unknown): boolean {
  return ['key', 'operator', 'value', 'effect'].every((name) => textAt(a, name) === textAt(b, name));
}

/**
 * Rejects a status in which a terminated container that must not restart is not terminated any more
 * (`ValidateContainerStateTransition`, `ValidateInitContainerStateTransition`). The change is allowed if a container's
 * exit may restart all containers of the pod. Ephemeral containers never restart
 * (`ValidateEphemeralContainerStateTransition`).
 */
function* refuseRevivals(pod: JsonObject, old: JsonObject): Generator<FieldError> {
  yield* revivals(pod, old, 'ephemeralContainerStatuses', () => false);
  const policy = textAt(old, 'spec', 'restartPolicy');
  if (policy === 'Always' || canRestartAll(old)) return;
  for (const list of ['containers', 'initContainers'] as const) {
    const specs = new Map(listAt(old, 'spec', list).map((one) => [textAt(one, 'name'), one]));
    const mayRestart = (name: string, exitCode: number | undefined): boolean => {
      const own = specs.get(name);
      if (textAt(own, 'restartPolicy') !== '' || listAt(own, 'restartPolicyRules').length > 0) return true;
      return policy === 'OnFailure' && exitCode !== 0;
    };
    yield* revivals(pod, old, list === 'containers' ? 'containerStatuses' : 'initContainerStatuses', mayRestart);
  }
}

function* revivals(
  pod: JsonObject,
  old: JsonObject,
  list: string,
  mayRestart: (name: string, exitCode: number | undefined) => boolean,
): Generator<FieldError> {
  for (const before of listAt(old, 'status', list)) {
    const terminated = at(before, 'state', 'terminated');
    const name = textAt(before, 'name');
    if (!isObject(terminated) || mayRestart(name, numberAt(terminated, 'exitCode'))) continue;
    for (const [index, after] of listAt(pod, 'status', list).entries()) {
      if (textAt(after, 'name') !== name || isObject(at(after, 'state', 'terminated'))) continue;
      const why = 'may not be transitioned to non-terminated state';
      yield fieldError('Forbidden', `status.${list}[${index}].state`, why);
    }
  }
}

function canRestartAll(pod: JsonObject): boolean {
  return ['initContainers', 'containers'].some((list) =>
    listAt(pod, 'spec', list).some((container) =>
      listAt(container, 'restartPolicyRules').some((rule) => textAt(rule, 'action') === 'RestartAllContainers'),
    ),
  );
}
