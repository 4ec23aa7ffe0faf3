import type { Pod, PodSpec } from './api.ts';
import { type FieldError, forbidden, required } from './field-error.ts';
import { validateContainers } from './validation/containers.ts';
import { validateMetadata } from './validation/metadata.ts';
import { validatePlacement } from './validation/placement.ts';
import { validateHostNetworkPorts } from './validation/ports.ts';
import { validatePodLevelConsistency, validateResources } from './validation/resources.ts';
import { inRange, oneOf, type Problems, requiredOneOf } from './validation/rules.ts';
import { validatePodSecurity } from './validation/security.ts';
import { validateVolumes } from './validation/volumes.ts';

/**
 * Returns the errors for which the API server would reject a new pod (`ValidatePodCreate` in
 * `pkg/apis/core/validation`), limited to features that a kubelet runs. An empty list means that the pod is valid. The
 * pod's types must already be checked (`checkPod`) and its defaults filled in (`defaultPod`). Affinity, topology spread
 * constraints and volume sources that only an API server can resolve are not validated here.
 */
export function validatePod(pod: Pod): readonly FieldError[] {
  return [...validateMetadata(pod.metadata, 'metadata'), ...validateSpec(pod.spec, 'spec')];
}

function* validateSpec(spec: PodSpec, path: string): Problems {
  yield* validateVolumes(spec.volumes ?? [], `${path}.volumes`);
  yield* validateContainers(spec, path);
  if (spec.hostNetwork) yield* validateHostNetworkPorts(spec.containers, `${path}.containers`);
  yield* requiredOneOf(`${path}.restartPolicy`, spec.restartPolicy, ['Always', 'OnFailure', 'Never']);
  if (spec.terminationGracePeriodSeconds === undefined) yield required(`${path}.terminationGracePeriodSeconds`);
  yield* inRange(`${path}.activeDeadlineSeconds`, spec.activeDeadlineSeconds, 1, 2 ** 31 - 1);
  if (spec.resources) {
    yield* validateResources(spec.resources, `${path}.resources`, 'pod', []);
    yield* validatePodLevelConsistency(spec, `${path}.resources`);
  }
  if (spec.overhead) yield* validateResources({ limits: spec.overhead }, `${path}.overhead`, 'container', []);
  yield* validatePodSecurity(spec, path);
  yield* validatePlacement(spec, path);
  if (spec.os) yield* oneOf(`${path}.os`, spec.os.name, ['linux', 'windows']);
  yield* validateTokens(spec, path);
}

function* validateTokens(spec: PodSpec, path: string): Problems {
  if (spec.serviceAccountName) return;
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    for (const [sourceIndex, source] of (volume.projected?.sources ?? []).entries()) {
      if (!source.serviceAccountToken) continue;
      const at = `${path}.volumes[${index}].projected.sources[${sourceIndex}].serviceAccountToken`;
      yield forbidden(at, 'must not be specified when serviceAccountName is not set');
    }
  }
}
