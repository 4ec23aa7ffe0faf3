import type { ControlPlane } from './control-plane.ts';

/** CertificateSigningRequest; only the fields that are used here. */
interface SigningRequest {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly signerName: string; readonly username: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string }[]; readonly certificate?: string };
}

const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** Returns whether a request is a node's request for its serving certificate that is neither approved nor denied. */
export function isOpenServingRequest({ spec, status }: SigningRequest): boolean {
  return (
    spec.signerName === 'kubernetes.io/kubelet-serving' &&
    spec.username.startsWith('system:node:') &&
    (status?.conditions ?? []).length === 0
  );
}

/**
 * Approves the serving certificate requests of kubelets. No controller of Kubernetes approves these requests, because
 * only an operator knows whether a node has the addresses in the request. All nodes of this control plane are on this
 * machine.
 * @returns the names of the approved requests
 */
export async function approveServingRequests(plane: ControlPlane): Promise<readonly string[]> {
  const { items } = await plane.json<{ items: readonly SigningRequest[] }>('GET', REQUESTS);
  const open = items.filter(isOpenServingRequest);
  for (const request of open) {
    const condition = {
      type: 'Approved',
      status: 'True',
      reason: 'NodeAgentTools',
      message: 'All nodes are on this machine',
    };
    await plane.json('PUT', `${REQUESTS}/${request.metadata.name}/approval`, {
      ...request,
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      status: { ...request.status, conditions: [condition] },
    });
  }
  return open.map(({ metadata }) => metadata.name);
}
