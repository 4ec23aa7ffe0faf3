import type { EnvVar } from '../api.ts';
import { invalid, required, unsupported } from '../field-error.ts';
import { qualifiedNameProblem } from '../names.ts';
import { quantityOrProblem } from './quantities.ts';
import { named, type Problems } from './rules.ts';

type FieldSelector = NonNullable<NonNullable<EnvVar['valueFrom']>['fieldRef']>;
type ResourceSelector = NonNullable<NonNullable<EnvVar['valueFrom']>['resourceFieldRef']>;

/** Kind of object that uses the selector. Environment variables and volumes support different fields. */
type User = 'env' | 'volume';

const FIELDS: Readonly<Record<User, readonly string[]>> = {
  env: [
    'metadata.name',
    'metadata.namespace',
    'metadata.uid',
    'spec.nodeName',
    'spec.serviceAccountName',
    'status.hostIP',
    'status.hostIPs',
    'status.podIP',
    'status.podIPs',
  ],
  volume: ['metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.namespace', 'metadata.uid'],
};
const RESOURCES = ['limits', 'requests'].flatMap((side) => [
  `${side}.cpu`,
  `${side}.ephemeral-storage`,
  `${side}.memory`,
]);
const SIZES = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

/** Validates a reference to a field of the pod. */
export function* validateFieldSelector(selector: FieldSelector, path: string, user: User): Problems {
  if (!selector.fieldPath) {
    yield required(`${path}.fieldPath`);
    return;
  }
  if (selector.apiVersion !== undefined && selector.apiVersion !== 'v1') {
    yield invalid(`${path}.apiVersion`, selector.apiVersion, 'must be v1');
  }
  const open = selector.fieldPath.indexOf("['");
  const map = selector.fieldPath.slice(0, Math.max(open, 0));
  const key = selector.fieldPath.slice(open + 2, -2);
  if (open < 0 || !selector.fieldPath.endsWith("']")) {
    if (!FIELDS[user].includes(selector.fieldPath)) {
      yield unsupported(`${path}.fieldPath`, selector.fieldPath, FIELDS[user]);
    }
  } else if (map === 'metadata.annotations') yield* named(path, key.toLowerCase(), qualifiedNameProblem);
  else if (map === 'metadata.labels') yield* named(path, key, qualifiedNameProblem);
  else yield invalid(path, map, 'does not support subscript');
}

/** Validates a reference to a container's requests or limits. */
export function* validateResourceSelector(selector: ResourceSelector, path: string, user: User): Problems {
  const { resource } = selector;
  const isHugePages = /^(limits|requests)\.hugepages-/.test(resource ?? '');
  if (user === 'volume' && !selector.containerName) yield required(`${path}.containerName`);
  else if (!resource) yield required(`${path}.resource`);
  else if (!RESOURCES.includes(resource) && !isHugePages) yield unsupported(`${path}.resource`, resource, RESOURCES);
  if (selector.divisor === undefined) return;
  const { quantity, problem } = quantityOrProblem(selector.divisor);
  if (quantity === undefined) yield invalid(`${path}.divisor`, selector.divisor, problem ?? '');
  else if (!quantity.isZero) {
    const allowed = resource?.endsWith('.cpu') ? ['1m', '1'] : SIZES;
    if (allowed.includes(quantity.toString())) return;
    const of = isHugePages
      ? 'hugepages'
      : (resource?.split('.')[1] ?? '').replace('ephemeral', 'local ephemeral').replace('-', ' ');
    yield invalid(
      `${path}.divisor`,
      resource,
      `only divisor's values ${allowed.join(allowed.length === 2 ? ' and ' : ', ')} are supported with the ${of} resource`,
    );
  }
}
