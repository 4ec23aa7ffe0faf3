/** Object that is created when the control plane starts, and the API path of its collection. */
interface Initial {
  readonly collection: string;
  readonly object: object;
}

/** User name with which the API server authenticates to kubelets. */
export const KUBELET_CLIENT = 'kube-apiserver-kubelet-client';

/**
 * Returns the objects that let a node join with a bootstrap token: the token and its role bindings, as kubeadm creates
 * them (`cmd/kubeadm/app/phases/bootstraptoken/node`).
 * @param token `ID.SECRET`, such as `07401b.f395accd246ae52d`
 */
export function bootstrapObjects(token: string): readonly Initial[] {
  const [id = '', secret = ''] = token.split('.');
  return [
    {
      collection: '/api/v1/namespaces/kube-system/secrets',
      object: {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
        type: 'bootstrap.kubernetes.io/token',
        stringData: { 'token-id': id, 'token-secret': secret, 'usage-bootstrap-authentication': 'true' },
      },
    },
    binding('node-agent:kubelet-bootstrap', 'system:node-bootstrapper', 'Group', 'system:bootstrappers'),
    binding(
      'node-agent:node-autoapprove-bootstrap',
      'system:certificates.k8s.io:certificatesigningrequests:nodeclient',
      'Group',
      'system:bootstrappers',
    ),
    binding(
      'node-agent:node-autoapprove-certificate-rotation',
      'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient',
      'Group',
      'system:nodes',
    ),
    binding('node-agent:kubelet-api-admin', 'system:kubelet-api-admin', 'User', KUBELET_CLIENT),
  ];
}

function binding(name: string, role: string, kind: 'Group' | 'User', subject: string): Initial {
  const group = 'rbac.authorization.k8s.io';
  return {
    collection: `/apis/${group}/v1/clusterrolebindings`,
    object: {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: group, kind, name: subject }],
    },
  };
}
