const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const DOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** Labels of the Kubernetes namespaces that a kubelet may set on its node (k8s.io/kubelet/pkg/apis). */
const KUBELET_LABELS: ReadonlySet<string> = new Set([
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);
const KUBELET_NAMESPACES = ['kubelet.kubernetes.io', 'node.kubernetes.io'] as const;

/** Returns the problem of a label or taint key; `undefined` if it is valid. */
export function keyProblem(key: string): string | undefined {
  const slash = key.indexOf('/');
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  const name = key.slice(slash + 1);
  if (prefix !== undefined && (prefix.length > 253 || !DOMAIN.test(prefix))) {
    return `${JSON.stringify(prefix)} must be a DNS name of at most 253 characters`;
  }
  if (name.length > 63 || !NAME.test(name)) {
    return `${JSON.stringify(name)} must be 1 to 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends`;
  }
  return undefined;
}

/** Returns the problem of a label or taint value; `undefined` if it is valid. */
export function valueProblem(value: string): string | undefined {
  if (value === '' || (value.length <= 63 && NAME.test(value))) return undefined;
  return `${JSON.stringify(value)} must be empty, or at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends`;
}

/** Returns why a kubelet must not set this label on its node; `undefined` if it may. */
export function nodeLabelProblem(key: string): string | undefined {
  const namespace = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
  if (!['kubernetes.io', 'k8s.io'].some((root) => isDomainOf(namespace, root))) return undefined;
  if (KUBELET_LABELS.has(key) || KUBELET_NAMESPACES.some((root) => isDomainOf(namespace, root))) return undefined;
  return `unknown 'kubernetes.io' or 'k8s.io' label ${key}: it must begin with an allowed prefix (${KUBELET_NAMESPACES.join(
    ', ',
  )}) or be in the specifically allowed set (${[...KUBELET_LABELS].join(', ')})`;
}

function isDomainOf(namespace: string, root: string): boolean {
  return namespace === root || namespace.endsWith(`.${root}`);
}
