import { type RestClient, resources } from '@node-agent/kube-client';
import type { Reviewer } from '@node-agent/server';

/**
 * Creates a reviewer that sends the tokens and requests of the kubelet's clients to the API server as TokenReviews and
 * SubjectAccessReviews.
 */
export function apiReviewer(client: Pick<RestClient, 'create'>): Reviewer {
  return {
    async reviewToken(token, signal) {
      const { group, version, kind } = resources.tokenReviews;
      const review = { apiVersion: `${group}/${version}`, kind, metadata: {}, spec: { token } };
      return (await client.create(resources.tokenReviews, review, {}, signal)).status ?? {};
    },
    async reviewAccess(spec, signal) {
      const { group, version, kind } = resources.subjectAccessReviews;
      const { groups, extra = {}, ...who } = spec;
      const named = Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]));
      const review = { ...{ metadata: {}, kind }, spec: { ...who, groups: [...groups], extra: named } };
      const object = { apiVersion: `${group}/${version}`, ...review };
      return (await client.create(resources.subjectAccessReviews, object, {}, signal)).status ?? {};
    },
  };
}
