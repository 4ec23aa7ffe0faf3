import type { Pod } from '@node-agent/pod-spec';
import type { StatusApi } from './status-writer-ports.ts';

/** Resource `pods` of the API, in the form of `@node-agent/kube-client`. */
export interface PodsResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Type of the resource's objects, for the compiler only. The field is never present at run time. */
  readonly object?: Pod;
}

/** Requests that {@link restStatusApi} makes; a `RestClient` of `@node-agent/kube-client` implements them. */
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

/** Namespace and name of a pod. */
export interface PodKey {
  readonly namespace: string;
  readonly name: string;
}

const pods: PodsResource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };

/** Adapts an API client to the requests of a `StatusWriter`. Errors are passed on unchanged. */
export function restStatusApi(client: PodRestClient): StatusApi {
  return {
    getPod: (namespace, name, signal) => client.get(pods, { namespace, name }, signal),
    // The patch contains the UID, so the server rejects it for another pod of the same name.
    patchPodStatus: (namespace, name, _uid, body, signal) =>
      client.patch(pods, { type: 'strategic', body }, { namespace, name, subresource: 'status' }, signal),
    deletePod: (namespace, name, { uid, gracePeriodSeconds }, signal) =>
      client.delete(pods, { namespace, name, preconditions: { uid }, gracePeriodSeconds }, signal),
  };
}
