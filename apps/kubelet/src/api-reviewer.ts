import { type RestClient, resources } from '@node-agent/kube-client';
import type { Reviewer } from '@node-agent/server';

/** The API server as those who ask this node are reviewed by it. */
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
