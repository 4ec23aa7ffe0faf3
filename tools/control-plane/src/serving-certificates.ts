import type { ControlPlane } from './control-plane.ts';

/** A request for a certificate, as much of it as is looked at. */
interface SigningRequest {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly signerName: string; readonly username: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string }[]; readonly certificate?: string };
}

const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** Whether a request is a node's, for its own server, and nobody has decided on it. */
export function isOpenServingRequest({ spec, status }: SigningRequest): boolean {
  return (
    spec.signerName === 'kubernetes.io/kubelet-serving' &&
    spec.username.startsWith('system:node:') &&
    (status?.conditions ?? []).length === 0
  );
}

/**
 * Approves the requests of kubelets for certificates of their servers. No controller of Kubernetes does that: whether a node
 * is at the addresses it names, only an operator knows. Here they are all this machine's.
 * @returns the names of the requests that were approved
 */
export async function approveServingRequests(plane: ControlPlane): Promise<readonly string[]> {
  const { items } = await plane.json<{ items: readonly SigningRequest[] }>('GET', REQUESTS);
  const open = items.filter(isOpenServingRequest);
  for (const request of open) {
    const condition = { type: 'Approved', status: 'True', reason: 'NodeAgentTools', message: 'a node of this machine' };
    await plane.json('PUT', `${REQUESTS}/${request.metadata.name}/approval`, {
      ...request,
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      status: { ...request.status, conditions: [condition] },
    });
  }
  return open.map(({ metadata }) => metadata.name);
}
