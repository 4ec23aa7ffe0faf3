import { readFile } from 'node:fs/promises';
import { writeImage } from '@node-agent/tools-containerd';
import { COREDNS_IMAGE } from './cluster-node.ts';

/** Writes CoreDNS's image as an archive: one static program. */
export async function writeCoreDnsImage(program: string, file: string): Promise<void> {
  const data = new Uint8Array(await readFile(program));
  await writeImage({
    tag: COREDNS_IMAGE,
    entries: [{ path: 'coredns', mode: 0o755, data }],
    config: { Entrypoint: ['/coredns'] },
    file,
  });
}

/** Object to create, with the path of its collection in the API. */
export interface CollectionObject {
  readonly collection: string;
  readonly object: { readonly metadata: { readonly name: string }; readonly [field: string]: unknown };
}

/**
 * Returns CoreDNS's configuration, which follows `cluster/addons/dns/coredns` of the Kubernetes release.
 * @param nameServers name servers for other names; without any, other names are refused
 */
export function corefile(nameServers: readonly string[]): string {
  return [
    '.:53 {',
    '    errors',
    '    ready',
    '    kubernetes cluster.local in-addr.arpa ip6.arpa {',
    '        pods insecure',
    '        fallthrough in-addr.arpa ip6.arpa',
    '    }',
    ...(nameServers.length > 0 ? [`    forward . ${nameServers.join(' ')}`] : []),
    '    cache 30',
    '    loadbalance',
    '}',
    '',
  ].join('\n');
}

const NAME = 'coredns';
const LABELS = { 'k8s-app': 'kube-dns' };

/** Returns the objects of the cluster DNS, with upstream's names (`cluster/addons/dns/coredns`). */
export function clusterDnsObjects(address: string, nameServers: readonly string[]): readonly CollectionObject[] {
  const namespaced = { namespace: 'kube-system', labels: LABELS };
  const core = '/api/v1/namespaces/kube-system';
  const rbac = { group: 'rbac.authorization.k8s.io', path: '/apis/rbac.authorization.k8s.io/v1' };
  const read = (apiGroups: string[], resources: string[]): object => ({
    apiGroups,
    resources,
    verbs: ['list', 'watch'],
  });
  return [
    {
      collection: `${core}/serviceaccounts`,
      object: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: NAME, ...namespaced } },
    },
    {
      collection: `${rbac.path}/clusterroles`,
      object: {
        apiVersion: `${rbac.group}/v1`,
        kind: 'ClusterRole',
        metadata: { name: 'system:coredns' },
        rules: [read([''], ['services', 'pods', 'namespaces']), read(['discovery.k8s.io'], ['endpointslices'])],
      },
    },
    {
      collection: `${rbac.path}/clusterrolebindings`,
      object: {
        apiVersion: `${rbac.group}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name: 'system:coredns' },
        roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: 'system:coredns' },
        subjects: [{ kind: 'ServiceAccount', name: NAME, namespace: 'kube-system' }],
      },
    },
    {
      collection: `${core}/configmaps`,
      object: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: NAME, ...namespaced },
        data: { Corefile: corefile(nameServers) },
      },
    },
    {
      collection: '/apis/apps/v1/namespaces/kube-system/deployments',
      object: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: NAME, ...namespaced },
        spec: { replicas: 1, selector: { matchLabels: LABELS }, template: template() },
      },
    },
    {
      collection: `${core}/services`,
      object: {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'kube-dns', ...namespaced },
        spec: {
          clusterIP: address,
          selector: LABELS,
          ports: [
            { name: 'dns', port: 53, protocol: 'UDP' },
            { name: 'dns-tcp', port: 53, protocol: 'TCP' },
          ],
        },
      },
    },
  ];
}

function template(): object {
  return {
    metadata: { labels: LABELS },
    spec: {
      serviceAccountName: NAME,
      priorityClassName: 'system-cluster-critical',
      // CoreDNS itself resolves names with the node's resolver, not with the cluster DNS.
      dnsPolicy: 'Default',
      terminationGracePeriodSeconds: 5,
      containers: [
        {
          name: NAME,
          image: COREDNS_IMAGE,
          imagePullPolicy: 'IfNotPresent',
          args: ['-conf', '/etc/coredns/Corefile'],
          ports: [
            { name: 'dns', containerPort: 53, protocol: 'UDP' },
            { name: 'dns-tcp', containerPort: 53, protocol: 'TCP' },
          ],
          readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
          resources: { requests: { cpu: '100m', memory: '70Mi' }, limits: { memory: '170Mi' } },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
          },
          volumeMounts: [{ name: 'config', mountPath: '/etc/coredns', readOnly: true }],
        },
      ],
      volumes: [{ name: 'config', configMap: { name: NAME } }],
    },
  };
}
