import assert from 'node:assert/strict';
import { at, type JsonObject, listAt, objectAt, textAt } from '../core/json.ts';
import { causesOf, type Examination, type Scene } from './scene.ts';

const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews';

async function account(scene: Scene): Promise<{ name: string; uid: string; tokenPath: string }> {
  const name = scene.name();
  const made = await scene.create(scene.path('serviceaccounts'), { metadata: { name } });
  return { name, uid: textAt(made, 'metadata', 'uid'), tokenPath: scene.path('serviceaccounts', name, 'token') };
}

async function reviewed(scene: Scene, token: string, audiences: readonly string[] = []): Promise<JsonObject> {
  const spec = audiences.length === 0 ? { token } : { token, audiences };
  return objectAt(await scene.ok('POST', REVIEWS, { body: { spec } }), 'status');
}

function claimsOf(token: string): JsonObject {
  const value: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  return objectAt({ value }, 'value');
}

/** Compliance cases about tokens and access reviews. */
export const accessExaminations: readonly Examination[] = [
  [
    'a service account gets a token for a pod that contains the account, the pod and an expiry time',
    async (scene) => {
      const { name, uid, tokenPath } = await account(scene);
      const pod = await scene.pod({ serviceAccountName: name });
      const podUid = textAt(pod.object, 'metadata', 'uid');
      const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: pod.name, uid: podUid };
      const spec = { audiences: ['vault'], expirationSeconds: 900, boundObjectRef };
      const made = await scene.ok('POST', tokenPath, { body: { spec } });
      const claims = claimsOf(textAt(made, 'status', 'token'));
      assert.equal(claims.sub, `system:serviceaccount:${scene.namespace}:${name}`);
      assert.deepEqual(claims.aud, ['vault']);
      assert.equal(Number(claims.exp) - Number(claims.iat), 900);
      assert.deepEqual(at(claims, 'kubernetes.io', 'pod'), { name: pod.name, uid: podUid });
      assert.deepEqual(at(claims, 'kubernetes.io', 'serviceaccount'), { name, uid });
      assert.equal(Date.parse(textAt(made, 'status', 'expirationTimestamp')), Number(claims.exp) * 1000);
      const status = await reviewed(scene, textAt(made, 'status', 'token'), ['vault']);
      assert.deepEqual([status.authenticated, status.audiences], [true, ['vault']]);
      assert.equal(textAt(status, 'user', 'username'), claims.sub);
      assert.deepEqual(at(status, 'user', 'extra', 'authentication.kubernetes.io/pod-name'), [pod.name]);
    },
  ],
  [
    'a token request of less than ten minutes is invalid, and one without a duration gets an hour',
    async (scene) => {
      const { tokenPath } = await account(scene);
      const status = await scene.refused(422, 'Invalid', 'POST', tokenPath, {
        body: { spec: { expirationSeconds: 599 } },
      });
      assert.deepEqual(causesOf(status), ['FieldValueInvalid spec.expirationSeconds']);
      const made = await scene.ok('POST', tokenPath, { body: { spec: {} } });
      assert.equal(at(made, 'spec', 'expirationSeconds'), 3600);
      assert.ok(listAt(made, 'spec', 'audiences').length > 0);
    },
  ],
  [
    'a token request bound to a pod of another account, to another UID or to a missing pod is rejected',
    async (scene) => {
      const { name, tokenPath } = await account(scene);
      const other = await scene.pod();
      const own = await scene.pod({ serviceAccountName: name });
      const bound = (podName: string, uid: string = ''): { body: object } => ({
        body: { spec: { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: podName, uid } } },
      });
      await scene.refused(400, 'BadRequest', 'POST', tokenPath, bound(other.name));
      await scene.refused(409, 'Conflict', 'POST', tokenPath, bound(own.name, 'another'));
      await scene.refused(404, 'NotFound', 'POST', tokenPath, bound(scene.name()));
      await scene.refused(404, 'NotFound', 'POST', scene.path('serviceaccounts', scene.name(), 'token'), {
        body: { spec: {} },
      });
    },
  ],
  [
    'a token is invalid after its bound object is deleted, and for other audiences',
    async (scene) => {
      const { name, tokenPath } = await account(scene);
      const pod = await scene.pod({ serviceAccountName: name });
      const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: pod.name };
      const made = await scene.ok('POST', tokenPath, { body: { spec: { audiences: ['a'], boundObjectRef } } });
      const token = textAt(made, 'status', 'token');
      assert.equal((await reviewed(scene, token, ['a'])).authenticated, true);
      assert.notEqual((await reviewed(scene, token, ['b'])).authenticated, true);
      await scene.ok('DELETE', pod.path, { body: { gracePeriodSeconds: 0 } });
      await scene.eventually('the token is no longer valid', async () =>
        (await reviewed(scene, token, ['a'])).authenticated === true ? undefined : true,
      );
    },
  ],
  [
    'a token review of a malformed token reports it as not authenticated',
    async (scene) => {
      const status = await reviewed(scene, 'nonsense');
      assert.notEqual(status.authenticated, true);
      assert.match(String(status.error), /invalid bearer token/);
    },
  ],
  [
    'a subject access review reports whether a user is allowed to act',
    async (scene) => {
      const resourceAttributes = { verb: 'get', resource: 'nodes', subresource: 'proxy', name: 'n' };
      const body = { spec: { resourceAttributes, user: 'admin', groups: ['system:masters'] } };
      const answer = await scene.ok('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { body });
      assert.deepEqual([answer.kind, at(answer, 'status', 'allowed')], ['SubjectAccessReview', true]);
      const nobody = { body: { spec: { resourceAttributes } } };
      const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
      const status = await scene.refused(422, 'Invalid', 'POST', path, nobody);
      assert.deepEqual(causesOf(status), ['FieldValueInvalid spec.user']);
    },
  ],
];
