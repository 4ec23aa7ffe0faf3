import { apiVersionOf, type ResourceDefinition } from '../resources/definition.ts';
import { registry } from '../resources/registry.ts';
import type { JsonObject } from './json.ts';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const PART_VERBS = ['get', 'patch', 'update'];

/** Resources that can only be created and are not stored, with their names and API groups. */
export const reviews: readonly Pick<ResourceDefinition, 'group' | 'version' | 'plural' | 'kind' | 'namespaced'>[] = [
  { group: 'authentication.k8s.io', version: 'v1', plural: 'tokenreviews', kind: 'TokenReview', namespaced: false },
  {
    group: 'authentication.k8s.io',
    version: 'v1',
    plural: 'selfsubjectreviews',
    kind: 'SelfSubjectReview',
    namespaced: false,
  },
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'subjectaccessreviews',
    kind: 'SubjectAccessReview',
    namespaced: false,
  },
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'selfsubjectaccessreviews',
    kind: 'SelfSubjectAccessReview',
    namespaced: false,
  },
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'localsubjectaccessreviews',
    kind: 'LocalSubjectAccessReview',
    namespaced: true,
  },
];

interface Part {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly group?: string;
  readonly version?: string;
}

function partsOf({ plural, kind, subresources }: ResourceDefinition): Part[] {
  const parts: Part[] = subresources.map((name) => ({ name: `${plural}/${name}`, kind, verbs: PART_VERBS }));
  if (plural === 'pods') {
    parts.push({ name: 'pods/binding', kind: 'Binding', verbs: ['create'] });
    parts.push({ name: 'pods/eviction', kind: 'Eviction', verbs: ['create'], group: 'policy', version: 'v1' });
  }
  if (plural === 'serviceaccounts') {
    const token = { name: 'serviceaccounts/token', kind: 'TokenRequest', verbs: ['create'] };
    parts.push({ ...token, group: 'authentication.k8s.io', version: 'v1' });
  }
  return parts;
}

function apiResources(groupVersion: string): JsonObject[] {
  const list: JsonObject[] = [];
  for (const definition of registry.filter((one) => apiVersionOf(one) === groupVersion)) {
    const { plural, kind, namespaced, shortNames } = definition;
    list.push({
      name: plural,
      singularName: kind.toLowerCase(),
      namespaced,
      kind,
      verbs: VERBS,
      ...(shortNames.length > 0 ? { shortNames } : {}),
    });
    for (const part of partsOf(definition)) list.push({ ...part, singularName: '', namespaced });
  }
  for (const { plural, kind, namespaced } of reviews.filter((one) => apiVersionOf(one) === groupVersion)) {
    list.push({ name: plural, singularName: kind.toLowerCase(), namespaced, kind, verbs: ['create'] });
  }
  return list;
}

function groups(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { group, version } of [...registry, ...reviews]) {
    if (group !== '') found.set(group, (found.get(group) ?? new Set()).add(version));
  }
  return found;
}

function groupBody(name: string, versions: ReadonlySet<string>): JsonObject {
  const all = [...versions].map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: all, preferredVersion: all[0] };
}

/** Returns the discovery document at a path. Returns `undefined` if the path has none. */
export function discover(path: string): JsonObject | undefined {
  const parts = path.split('/').filter((part) => part !== '');
  const [root, group, version] = parts;
  if (root === 'api' && parts.length === 1) {
    return {
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '127.0.0.1' }],
    };
  }
  if (root === 'api' && parts.length === 2 && group === 'v1') return resourceList('v1');
  if (root !== 'apis') return undefined;
  if (group === undefined) {
    return { kind: 'APIGroupList', apiVersion: 'v1', groups: [...groups()].map(([name, all]) => groupBody(name, all)) };
  }
  const versions = groups().get(group);
  if (versions === undefined) return undefined;
  if (version === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...groupBody(group, versions) };
  return parts.length === 3 && versions.has(version) ? resourceList(`${group}/${version}`) : undefined;
}

function resourceList(groupVersion: string): JsonObject {
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources: apiResources(groupVersion) };
}

/** The response of `/version`. */
export const versionInfo: JsonObject = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.3',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: 'linux/amd64',
};
