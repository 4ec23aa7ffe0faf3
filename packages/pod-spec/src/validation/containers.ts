import type { Container, PodSpec } from '../api.ts';
import { isRestartableInit } from '../containers.ts';
import { duplicate, forbidden, invalid, required } from '../field-error.ts';
import { dns1123LabelProblem } from '../names.ts';
import { validateEnv, validateEnvFrom } from './env.ts';
import { validateMounts } from './mounts.ts';
import { validateHostPorts, validatePorts } from './ports.ts';
import { forbidProbes, validateProbes } from './probes.ts';
import { validateResources } from './resources.ts';
import { validateResizePolicy, validateRestarts } from './restarts.ts';
import { type Problems, requiredName, requiredOneOf } from './rules.ts';
import { validateSecurityContext } from './security.ts';
import { PULL_POLICIES } from './volumes.ts';

/** Validates a pod's containers of all types. */
export function* validateContainers(spec: PodSpec, path: string): Problems {
  if (spec.containers.length === 0) yield required(`${path}.containers`);
  const names = new Set<string>();
  for (const [index, container] of spec.containers.entries()) {
    const at = `${path}.containers[${index}]`;
    yield* validateCommon(container, spec, at);
    yield* validateUnique(container.name, names, `${at}.name`);
    yield* validateProbes(container, spec, at);
  }
  yield* validateHostPorts(spec.containers, `${path}.containers`);
  for (const [index, container] of (spec.initContainers ?? []).entries()) {
    const at = `${path}.initContainers[${index}]`;
    yield* validateCommon(container, spec, at);
    yield* validateUnique(container.name, names, `${at}.name`);
    // Init containers run one after another, so several of them may use the same host port.
    yield* validateHostPorts([container], `${path}.initContainers`);
    if (isRestartableInit(container)) yield* validateProbes(container, spec, at);
    else yield* validateEnding(container, at);
  }
  if ((spec.ephemeralContainers ?? []).length > 0) {
    yield forbidden(`${path}.ephemeralContainers`, 'cannot be set on create');
  }
}

function* validateCommon(container: Container, spec: PodSpec, path: string): Problems {
  const volumes = spec.volumes ?? [];
  yield* requiredName(`${path}.name`, container.name, dns1123LabelProblem);
  const { image } = container;
  if (!image) yield required(`${path}.image`);
  else if (image !== image.trim())
    yield invalid(`${path}.image`, image, 'must not have leading or trailing whitespace');
  yield* requiredOneOf(`${path}.terminationMessagePolicy`, container.terminationMessagePolicy, [
    'File',
    'FallbackToLogsOnError',
  ]);
  yield* validatePorts(container.ports ?? [], `${path}.ports`);
  yield* validateEnv(container.env ?? [], volumes, `${path}.env`);
  yield* validateEnvFrom(container.envFrom ?? [], `${path}.envFrom`);
  yield* validateMounts(container, volumes, path);
  yield* requiredOneOf(`${path}.imagePullPolicy`, container.imagePullPolicy, PULL_POLICIES);
  const claims = (spec.resourceClaims ?? []).map((claim) => claim.name);
  yield* validateResources(container.resources ?? {}, `${path}.resources`, 'container', claims);
  yield* validateResizePolicy(container, spec.restartPolicy, path);
  yield* validateRestarts(container, path);
  if (container.securityContext) {
    yield* validateSecurityContext(container.securityContext, spec, `${path}.securityContext`);
  }
  if (spec.hostUsers === false && (container.volumeDevices ?? []).length > 0) {
    yield forbidden(`${path}.volumeDevices`, 'when `hostUsers` is false');
  }
}

/** Validates an init container that must run to completion. */
function* validateEnding(container: Container, path: string): Problems {
  yield* forbidProbes(container, path);
  for (const [index, { restartPolicy }] of (container.resizePolicy ?? []).entries()) {
    if (restartPolicy !== 'RestartContainer') continue;
    const detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
    yield invalid(`${path}.resizePolicy[${index}].restartPolicy`, restartPolicy, detail);
  }
}

function* validateUnique(name: string, names: Set<string>, path: string): Problems {
  if (name && names.has(name)) yield duplicate(path, name);
  names.add(name);
}
