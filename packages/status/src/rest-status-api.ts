import type { Pod } from '@node-agent/pod-spec';
import type { StatusApi } from './status-writer-ports.ts';

/** The resource `pods` of the API, as `@node-agent/kube-client` names resources. */
export interface PodsResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Not there at run time: ties the type of the object to the value. */
  readonly object?: Pod;
}

/** The requests that {@link restStatusApi} makes: a `RestClient` of `@node-agent/kube-client` has them. */
export interface PodRestClient {
  get(pods: PodsResource, key: PodKey, signal: AbortSignal): Promise<Pod>;
  patch(
    pods: PodsResource,
    patch: { readonly type: 'strategic'; readonly body: object },
    key: PodKey & { readonly subresource: 'status' },
    signal: AbortSignal,
  ): Promise<Pod>;
  delete(
    pods: PodsResource,
    options: PodKey & { readonly preconditions: { readonly uid: string }; readonly gracePeriodSeconds: number },
    signal: AbortSignal,
  ): Promise<unknown>;
}

/** Where a pod is in the API. */
export interface PodKey {
  readonly namespace: string;
  readonly name: string;
}

const pods: PodsResource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };

/** What a `StatusWriter` asks of the API server, by a client of it. Its errors are passed on as they are. */
export function restStatusApi(client: PodRestClient): StatusApi {
  return {
    getPod: (namespace, name, signal) => client.get(pods, { namespace, name }, signal),
    // The UID is in the patch: the server refuses it for another pod of that name.
    patchPodStatus: (namespace, name, _uid, body, signal) =>
      client.patch(pods, { type: 'strategic', body }, { namespace, name, subresource: 'status' }, signal),
    deletePod: (namespace, name, { uid, gracePeriodSeconds }, signal) =>
      client.delete(pods, { namespace, name, preconditions: { uid }, gracePeriodSeconds }, signal),
  };
}
