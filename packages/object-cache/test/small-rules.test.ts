import { expect, test } from 'vitest';
import { isExpired, podTokenQuery, type TokenQuery, tokenKey } from '../src/token-rules.ts';
import { normalizeTrustAnchors } from '../src/trust-anchors.ts';
import { isSuperseded, mayBePast, objectTtlMs } from '../src/version-rules.ts';
import { isIdle, maxIdleMsOf } from '../src/watch-rules.ts';
import { pod } from './fixtures.ts';

test.each<[string, object, object]>([
  ['for the API server, for an hour', {}, { audiences: [], expirationSeconds: 3600 }],
  ['without an audience', { audience: '' }, { audiences: [], expirationSeconds: 3600 }],
  [
    'for another audience',
    { audience: 'vault', expirationSeconds: 600 },
    { audiences: ['vault'], expirationSeconds: 600 },
  ],
])('a pod’s service account token is bound to the pod, and requested %s', (_name, source, spec) => {
  const web = pod('web');
  const { name, uid, namespace } = web.metadata;
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid };
  expect(podTokenQuery({ ...web, spec: { ...web.spec, serviceAccountName: 'sa' } }, source)).toEqual({
    namespace,
    serviceAccountName: 'sa',
    spec: { ...spec, boundObjectRef },
  });
  const { serviceAccountName: _, ...without } = web.spec;
  expect(podTokenQuery({ ...web, spec: without }, source).serviceAccountName).toBe('');
});

test('token keys differ if any part of the request differs, and absent parts equal empty ones', () => {
  const base: TokenQuery = { namespace: 'ns', serviceAccountName: 'sa', spec: {} };
  const ref = { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'u1' };
  const others: TokenQuery[] = [
    { ...base, namespace: 'other' },
    { ...base, serviceAccountName: 'other' },
    { ...base, serviceAccountUid: 'u' },
    { ...base, spec: { audiences: ['a'] } },
    { ...base, spec: { expirationSeconds: 600 } },
    { ...base, spec: { boundObjectRef: ref } },
    { ...base, spec: { boundObjectRef: { ...ref, uid: 'u2' } } },
  ];
  expect(new Set([base, ...others].map(tokenKey)).size).toBe(8);
  const empty = { ...base, serviceAccountUid: '', spec: { audiences: [], expirationSeconds: 0 } };
  expect(tokenKey(empty)).toBe(tokenKey(base));
});

test.each([
  [999, false],
  [1000, false],
  [1001, true],
])('at time %i a token that expires at 1000 counts as expired: %s', (wallMs, expired) => {
  const token = { expiresAtMs: 1000, lifetimeMs: 500, obtainedAtMs: 0 };
  expect(isExpired(token, { wallMs, monotonicMs: 0 })).toBe(expired);
});

test.each([
  ['the same version', 'u1', '7', false],
  ['a newer version', 'u1', '10', false],
  ['an older version', 'u1', '6', true],
  ['a version that is no number', 'u1', 'x', true],
  ['no version', 'u1', undefined, true],
  ['another object', 'u2', '9', true],
])('a response with %s may be outdated: $3', (_name, uid, resourceVersion, past) => {
  const answer = { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
  expect(mayBePast(answer, { uid: 'u1', resourceVersion: '7' })).toBe(past);
});

test.each([
  ['30', 30_000],
  ['0', 0],
  ['-1', -1000],
  ['1.5', undefined],
  ['', undefined],
])('objects of a node with the TTL annotation %j are fresh for %s ms', (text, ms) => {
  expect(objectTtlMs({ 'node.alpha.kubernetes.io/ttl': text })).toBe(ms);
  expect(objectTtlMs({})).toBeUndefined();
  expect(objectTtlMs(undefined)).toBeUndefined();
});

test('a watch is idle if its object was not read for long and it has synced', () => {
  const watch = { synced: true, lastAccessMs: 1000 };
  expect([1500, 1600, 1601].map((nowMs) => isIdle(watch, nowMs, 600))).toEqual([false, false, true]);
  expect(isIdle({ ...watch, synced: false }, 9000, 600)).toBe(false);
  expect([1000, 12_000, 60_000].map(maxIdleMsOf)).toEqual([60_000, 60_000, 300_000]);
});

test('certificates of several bundles are deduplicated, and empty blocks are ignored', () => {
  const pem = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
  expect(normalizeTrustAnchors([`before\n${pem('QUJD')}after`, pem('QUJD'), pem('=')], 's')).toBe(pem('QUJD'));
  expect(normalizeTrustAnchors([pem('=')], 's')).toBe('');
});

test.each([
  ['another object of the same name', { uid: 'u1', resourceVersion: '7' }, { uid: 'u2', resourceVersion: '1' }, true],
  ['a newer version', { uid: 'u1', resourceVersion: '7' }, { uid: 'u1', resourceVersion: '8' }, true],
  ['the same version', { uid: 'u1', resourceVersion: '7' }, { uid: 'u1', resourceVersion: '7' }, false],
  ['an older version', { uid: 'u1', resourceVersion: '7' }, { uid: 'u1', resourceVersion: '6' }, false],
  ['no object', { uid: 'u1', resourceVersion: '7' }, undefined, true],
  ['an object that did not exist before', undefined, { uid: 'u1', resourceVersion: '7' }, true],
  ['no object as before', undefined, undefined, false],
])('a cached object is replaced by a response with %s: $3', (_, known, answer, expected) => {
  const of = (metadata: typeof known) => metadata && { metadata };
  expect(isSuperseded(of(known), of(answer))).toBe(expected);
});

test('a cached immutable object is not replaced by a newer version', () => {
  const known = { metadata: { uid: 'u1', resourceVersion: '7' }, immutable: true };
  expect(isSuperseded(known, { metadata: { uid: 'u1', resourceVersion: '8' } })).toBe(false);
});
