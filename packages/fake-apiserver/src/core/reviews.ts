import type { UserInfo } from '../resources/definition.ts';
import { badRequest, fieldError, invalid } from './failure.ts';
import { isObject, type JsonObject, listAt, objectAt, textAt } from './json.ts';
import { timestamp } from './time.ts';

/** The action that a user requests, as passed to the authorizer. */
export interface AccessAttributes {
  readonly user: UserInfo;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Path of a request that is not for a resource; otherwise ''. */
  readonly path: string;
}

/** Allows a request, or denies it with a reason. */
export type Authorizer = (attributes: AccessAttributes) => boolean | { readonly denied: string };

/** Data that is needed to respond to reviews. */
export interface ReviewSources {
  readonly user: UserInfo;
  readonly nowMs: number;
  readonly audiences: readonly string[];
  authenticate(
    token: string,
    audiences: readonly string[],
  ): { user: UserInfo; audiences: readonly string[] } | undefined;
  readonly authorize: Authorizer;
}

/**
 * Responds to a review.
 * @throws ApiFailure 400
 */
export function review(kind: string, namespace: string, body: unknown, sources: ReviewSources): JsonObject {
  if (!isObject(body)) throw badRequest(`${kind}: body must be an object`);
  const spec = objectAt(body, 'spec');
  const metadata = objectAt(body, 'metadata');
  const group = kind.includes('Access') ? 'authorization.k8s.io' : 'authentication.k8s.io';
  const answer = (status: JsonObject): JsonObject => ({ kind, apiVersion: `${group}/v1`, ...body, metadata, status });
  switch (kind) {
    case 'TokenReview':
      return answer(reviewToken(spec, sources));
    case 'SelfSubjectReview':
      return {
        ...answer({ userInfo: userInfo(sources.user) }),
        metadata: { creationTimestamp: timestamp(sources.nowMs) },
      };
    case 'SelfSubjectAccessReview':
      return answer(access(accessAttributes(spec, sources.user, namespace), sources.authorize));
    default: {
      const user: UserInfo = {
        name: textAt(spec, 'user'),
        groups: listAt(spec, 'groups').map(String),
        ...(textAt(spec, 'uid') === '' ? {} : { uid: textAt(spec, 'uid') }),
      };
      checkSubject(spec, user);
      return answer(access(accessAttributes(spec, user, namespace), sources.authorize));
    }
  }
}

function reviewToken(spec: JsonObject, { authenticate, audiences }: ReviewSources): JsonObject {
  const token = textAt(spec, 'token');
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const wanted = listAt(spec, 'audiences').map(String);
  const found = authenticate(token, wanted.length > 0 ? wanted : audiences);
  if (found === undefined) return { user: {}, error: 'invalid bearer token' };
  return {
    authenticated: true,
    user: userInfo(found.user),
    ...(wanted.length > 0 ? { audiences: found.audiences } : {}),
  };
}

function userInfo({ name, uid, groups, extra }: UserInfo): JsonObject {
  return { username: name, ...(uid === undefined ? {} : { uid }), groups, ...(extra === undefined ? {} : { extra }) };
}

/**
 * Checks that a SubjectAccessReview names one action and a subject. @throws ApiFailure 422 if the action or the subject
 * is missing
 */
function checkSubject(spec: JsonObject, user: UserInfo): void {
  const about = [spec.resourceAttributes, spec.nonResourceAttributes].filter(isObject).length;
  const errors = [];
  if (about !== 1) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    errors.push(fieldError('Invalid value', 'spec.resourceAttributes', why));
  }
  if (user.name === '' && user.groups.length === 0) {
    errors.push(fieldError('Invalid value', 'spec.user', 'at least one of user or group must be specified', ''));
  }
  if (errors.length > 0) throw invalid('authorization.k8s.io', '', '', errors);
}

function accessAttributes(spec: JsonObject, user: UserInfo, namespace: string): AccessAttributes {
  const resource = objectAt(spec, 'resourceAttributes');
  const other = objectAt(spec, 'nonResourceAttributes');
  return {
    user,
    verb: textAt(resource, 'verb') || textAt(other, 'verb'),
    group: textAt(resource, 'group'),
    resource: textAt(resource, 'resource'),
    subresource: textAt(resource, 'subresource'),
    namespace: textAt(resource, 'namespace') || namespace,
    name: textAt(resource, 'name'),
    path: textAt(other, 'path'),
  };
}

function access(attributes: AccessAttributes, authorize: Authorizer): JsonObject {
  const verdict = authorize(attributes);
  if (verdict === true) return { allowed: true };
  return { allowed: false, ...(verdict === false ? {} : { reason: verdict.denied }) };
}
