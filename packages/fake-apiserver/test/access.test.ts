import { describe, expect, test } from 'vitest';
import type { AuditEntry } from '../src/index.ts';
import { call, PODS, pod, world } from './support.ts';

const NODE = { name: 'system:node:n', groups: ['system:nodes', 'system:authenticated'] };
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

describe('authentication and authorization', () => {
  test('a bearer token identifies the user, an unknown token gets 401, and a request without token is the administrator', async () => {
    const { api } = world({ tokens: { secret: NODE } });
    const entries: AuditEntry[] = [];
    api.onRequest((entry) => entries.push(entry));
    await call(api, 'GET', PODS, undefined, bearer('secret'));
    await call(api, 'GET', PODS);
    const unknown = await call(api, 'GET', PODS, undefined, bearer('other'));
    expect(unknown.body).toMatchObject({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
    expect(entries.map(({ user, status }) => [user, status])).toEqual([
      ['system:node:n', 200],
      ['kubernetes-admin', 200],
      ['', 401],
    ]);
  });

  test('a request without credentials gets 401 if anonymous is null', async () => {
    const { api } = world({ anonymous: null });
    expect((await call(api, 'GET', PODS)).status).toBe(401);
  });

  test('a service account’s token authenticates the service account', async () => {
    const { api } = world({ anonymous: null, tokens: { root: NODE } });
    const as = bearer('root');
    await call(api, 'POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'a' } }, as);
    const path = '/api/v1/namespaces/default/serviceaccounts/a/token';
    const { body } = await call(api, 'POST', path, { spec: {} }, as);
    const token = (body.status as { token: string }).token;
    const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const self = await call(api, 'POST', reviews, {}, bearer(token));
    expect(self.body.status).toMatchObject({ userInfo: { username: 'system:serviceaccount:default:a' } });
    const [head, claims, mac] = token.split('.');
    const forged = Buffer.from(
      Buffer.from(claims ?? '', 'base64url')
        .toString()
        .replace(':a"', ':b"'),
    ).toString('base64url');
    expect((await call(api, 'GET', PODS, undefined, bearer(`${head}.${forged}.${mac}`))).status).toBe(401);
  });

  test('a service account token is rejected with 401 once it has expired', async () => {
    const { api, clock } = world();
    await call(api, 'POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'a' } });
    const path = '/api/v1/namespaces/default/serviceaccounts/a/token';
    const { body } = await call(api, 'POST', path, { spec: { expirationSeconds: 600 } });
    const as = bearer((body.status as { token: string }).token);
    await clock.advance(599_000);
    expect((await call(api, 'GET', PODS, undefined, as)).status).toBe(200);
    await clock.advance(1000);
    expect((await call(api, 'GET', PODS, undefined, as)).status).toBe(401);
  });

  test('a denied request gets the real server’s message', async () => {
    const { api } = world({
      tokens: { secret: NODE },
      authorize: ({ user, resource }) => user !== NODE || resource !== 'secrets' || { denied: 'no relationship found' },
    });
    const path = '/api/v1/namespaces/default/secrets/s';
    const { status, body } = await call(api, 'GET', path, undefined, bearer('secret'));
    expect(status).toBe(403);
    expect(body).toMatchObject({
      reason: 'Forbidden',
      details: { name: 's', kind: 'secrets' },
      message:
        'secrets "s" is forbidden: User "system:node:n" cannot get resource "secrets" in API group "" in the namespace "default": no relationship found',
    });
    const spec = { user: 'x', resourceAttributes: { resource: 'secrets', verb: 'get' } };
    const review = await call(api, 'POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec });
    expect(review.body.status).toEqual({ allowed: true });
  });
});

describe('controllers of the fake API server', () => {
  const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
  const request = Buffer.from('-----BEGIN CERTIFICATE REQUEST-----\n').toString('base64');
  const spec = {
    request,
    signerName: 'kubernetes.io/kubelet-serving',
    usages: ['server auth'],
    expirationSeconds: 3600,
  };

  async function approve(signer: () => string | undefined): Promise<unknown> {
    const { api, clock } = world({ signer });
    await call(api, 'POST', CSRS, { metadata: { name: 'c' }, spec });
    const conditions = [{ type: 'Approved', status: 'True', reason: 'r', message: 'm' }];
    await call(api, 'PUT', `${CSRS}/c/approval`, { metadata: { name: 'c' }, spec, status: { conditions } });
    await clock.settle();
    return (await call(api, 'GET', `${CSRS}/c`)).body.status;
  }

  test('an approved certificate signing request is signed', async () => {
    expect(await approve(() => 'PEM')).toMatchObject({ certificate: Buffer.from('PEM').toString('base64') });
  });

  test('an error of the signer is recorded in a condition of the certificate signing request', async () => {
    const fails = (): never => {
      throw new Error('no key');
    };
    expect(await approve(fails)).toMatchObject({
      conditions: [{ type: 'Approved' }, { type: 'Failed', message: 'no key' }],
    });
  });

  test('a certificate signing request for another signer stays unsigned', async () => {
    expect(await approve(() => undefined)).not.toHaveProperty('certificate');
  });

  test('a deleted namespace is removed when its last pod is gone', async () => {
    const { api, clock } = world();
    await call(api, 'POST', '/api/v1/namespaces', { metadata: { name: 'n' } });
    const pods = '/api/v1/namespaces/n/pods';
    await call(api, 'POST', pods, pod('web', { nodeName: 'node' }));
    await call(api, 'POST', '/api/v1/namespaces/n/configmaps', { metadata: { name: 'm' } });
    await call(api, 'DELETE', '/api/v1/namespaces/n');
    await clock.settle();
    expect((await call(api, 'GET', '/api/v1/namespaces/n/configmaps/m')).status).toBe(404);
    expect((await call(api, 'GET', `${pods}/web`)).body.metadata).toHaveProperty('deletionTimestamp');
    const late = await call(api, 'POST', pods, pod('late'));
    expect(late.body).toMatchObject({ code: 403, details: { causes: [{ reason: 'NamespaceTerminating' }] } });
    await call(api, 'DELETE', `${pods}/web`, { gracePeriodSeconds: 0 });
    await clock.settle();
    expect((await call(api, 'GET', '/api/v1/namespaces/n')).status).toBe(404);
  });

  test('a pod gets the value of its priority class, and a missing class is rejected', async () => {
    const { api } = world();
    api.put({ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'high' }, value: 1000 });
    const made = await call(api, 'POST', PODS, pod('a', { priorityClassName: 'high' }));
    expect(made.body.spec).toMatchObject({ priority: 1000 });
    const critical = await call(api, 'POST', PODS, pod('b', { priorityClassName: 'system-node-critical' }));
    expect(critical.body.spec).toMatchObject({ priority: 2_000_001_000 });
    expect((await call(api, 'POST', PODS, pod('c', { priorityClassName: 'none' }))).status).toBe(403);
  });

  test('a mirror pod gets no service account', async () => {
    const { api } = world();
    const annotations = { 'kubernetes.io/config.mirror': 'hash' };
    const { body } = await call(api, 'POST', PODS, { ...pod('static'), metadata: { name: 'static', annotations } });
    expect(body.spec).not.toHaveProperty('serviceAccountName');
  });
});
