import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isPreloadedAs,
  mayUse,
  type PulledRecord,
  recordedCredentials,
  secretOf,
  withCredentials,
} from '../src/pull-record.ts';
import { decodeIntent, decodeRecord, encodeIntent, encodeRecord } from '../src/pull-record-format.ts';
import { requiresVerification, untaggedName, type VerificationPolicy } from '../src/verification-policy.ts';

const secret = (name: string, credentialHash: string, uid = `${name}-uid`) => ({
  uid,
  namespace: 'shop',
  name,
  credentialHash,
});
const account = (name: string) => ({ uid: `${name}-uid`, namespace: 'shop', name });
const none = { secrets: [], serviceAccount: undefined };

describe('isPreloadedAs', () => {
  const shared = ['registry.example/app:1', 'mirror.example/app:1'];
  it.each<[string, string, readonly string[], readonly string[], readonly string[], boolean]>([
    ['only another name was pulled', 'registry.example/app:1', shared, ['mirror.example/app'], [], true],
    ['the runtime lists the name with a digest', 'a.io/b:1', [`a.io/b@sha256:${'a'.repeat(64)}`], ['c.io/d'], [], true],
    ['the record names no pulled image', 'registry.example/app:1', shared, [], [], false],
    ['the name was pulled', 'mirror.example/app:1', shared, ['mirror.example/app'], [], false],
    ['another tag of the repository was pulled', 'mirror.example/app:2', shared, ['mirror.example/app'], [], false],
    [
      'the name is a short form of the pulled name',
      'team/app:1',
      ['docker.io/team/app:1'],
      ['docker.io/team/app'],
      [],
      false,
    ],
    [
      'the pulled name is a short form of the name',
      'docker.io/library/app:1',
      ['docker.io/library/app:1'],
      ['app'],
      [],
      false,
    ],
    ['the name differs in the case of its registry', 'A.io/b:1', ['A.io/b:1', 'a.io/b:1'], ['a.io/b'], [], false],
    ['the runtime resolved the name to another registry', 'app:1', ['quay.io/app:1'], ['quay.io/app'], [], false],
    ['the runtime lists no names', 'registry.example/app:1', [], ['mirror.example/app'], [], false],
    [
      'a pull of the repository is in progress',
      'team/app:1',
      ['team/app:1'],
      ['c.io/d'],
      ['docker.io/team/app:1'],
      false,
    ],
    ['the image has no valid name', 'NO IMAGE', ['NO IMAGE'], ['c.io/d'], [], false],
  ])('an image counts as preloaded if %s: $5', (_what, image, names, pulled, intents, expected) => {
    const credentialMapping = Object.fromEntries(pulled.map((name) => [name, { nodePodsAccessible: true }]));
    expect(isPreloadedAs(image, names, { credentialMapping }, intents)).toBe(expected);
  });
});

describe('requiresVerification', () => {
  const allowlist = ['registry.example/base', 'registry.example/team/*'];
  it.each<[VerificationPolicy, string, boolean, boolean]>([
    ['NeverVerify', 'app', true, false],
    ['AlwaysVerify', 'app', false, true],
    ['AlwaysVerify', 'registry.example/base:1', false, true],
    ['NeverVerifyPreloadedImages', 'app', false, false],
    ['NeverVerifyPreloadedImages', 'app', true, true],
    ['NeverVerifyAllowlistedImages', 'registry.example/base:1', true, false],
    ['NeverVerifyAllowlistedImages', 'registry.example/base/more', false, true],
    ['NeverVerifyAllowlistedImages', 'registry.example/team/a/b:1', true, false],
    ['NeverVerifyAllowlistedImages', 'registry.example/team', false, true],
    ['NeverVerifyAllowlistedImages', 'app', false, true],
    ['NeverVerifyAllowlistedImages', 'NO IMAGE', false, true],
  ])(
    'with policy %s, image %s that the kubelet pulled (%s) requires verification: %s',
    (policy, image, pulledByKubelet, expected) => {
      expect(requiresVerification(policy, allowlist, image, pulledByKubelet)).toBe(expected);
    },
  );

  const digest = `sha256:${'a'.repeat(64)}`;
  it.each([
    ['app', 'app'],
    ['app:1', 'app'],
    [`app@${digest}`, 'app'],
    [`host:5000/app:1@${digest}`, 'host:5000/app'],
    ['host:5000/app', 'host:5000/app'],
    ['NO IMAGE', undefined],
  ])('the image %s has the name without tag and digest %s', (image, name) => {
    expect(untaggedName(image)).toBe(name);
  });
});

describe('mayUse', () => {
  const recorded = { kubernetesSecrets: [secret('a', 'h1')], kubernetesServiceAccounts: [account('robot')] };
  const full = { kubernetesSecrets: Array.from({ length: 100 }, (_, i) => secret(`s${i}`, `h${i}`)) };
  it.each([
    ['the recorded secret', recorded, { ...none, secrets: [secret('a', 'h1')] }, { allowed: true }],
    [
      'another secret with the same credential',
      recorded,
      { ...none, secrets: [secret('b', 'h1')] },
      { allowed: true, learn: secret('b', 'h1') },
    ],
    [
      'the recorded secret with a new credential',
      recorded,
      { ...none, secrets: [secret('a', 'h2')] },
      { allowed: true, learn: secret('a', 'h2') },
    ],
    [
      'a secret of the same name with another UID',
      recorded,
      { ...none, secrets: [secret('a', 'h2', 'x')] },
      { allowed: false },
    ],
    [
      'a secret without a hash, as in the record',
      { kubernetesSecrets: [secret('a', '')] },
      { ...none, secrets: [secret('b', '')] },
      { allowed: false },
    ],
    ['the recorded service account', recorded, { ...none, serviceAccount: account('robot') }, { allowed: true }],
    [
      'one of several recorded service accounts',
      { kubernetesServiceAccounts: [account('other'), account('robot')] },
      { ...none, serviceAccount: account('robot') },
      { allowed: true },
    ],
    ['another service account', recorded, { ...none, serviceAccount: account('other') }, { allowed: false }],
    ['no credentials', recorded, none, { allowed: false }],
    ['no credentials if all pods may use the image', { nodePodsAccessible: true }, none, { allowed: true }],
    ['a credential from a record that is full', full, { ...none, secrets: [secret('b', 'h7')] }, { allowed: true }],
    [
      'a new credential of a recorded secret while the record is full',
      full,
      { ...none, secrets: [secret('s7', 'h')] },
      { allowed: false },
    ],
  ])('a pod may use a recorded image with %s: $3', (_what, known, credentials, expected) => {
    expect(mayUse(known, credentials)).toEqual(expected);
  });
});

describe('withCredentials', () => {
  const record: PulledRecord = { lastUpdatedMs: 1000, imageRef: 'r', credentialMapping: {} };
  const add = (to: PulledRecord, source: Parameters<typeof recordedCredentials>[0]): PulledRecord | undefined =>
    withCredentials(to, 'app', recordedCredentials(source), 2000);

  it('a pull record keeps the newer entry per secret, sorted; access for all pods replaces all other entries', () => {
    let now = record;
    for (const one of [secret('b', 'h1'), secret('a', 'h1'), secret('b', 'h2')]) {
      now = add(now, { secret: one }) ?? now;
    }
    now = add(now, { serviceAccount: account('robot') }) ?? now;
    expect(now).toEqual({
      lastUpdatedMs: 2000,
      imageRef: 'r',
      credentialMapping: {
        app: {
          kubernetesSecrets: [secret('a', 'h1'), secret('b', 'h2')],
          kubernetesServiceAccounts: [account('robot')],
        },
      },
    });
    expect(add(now, { secret: secret('a', 'h1') })).toBeUndefined();
    expect(withCredentials(now, 'app', {}, 3000)).toBeUndefined();
    const open = add(now, undefined);
    expect(open?.credentialMapping).toEqual({ app: { nodePodsAccessible: true } });
    expect(open && add(open, { secret: secret('c', 'h') })).toBeUndefined();
  });

  it('a pull record keeps its credentials when another credential is added', () => {
    const one = add(record, { secret: secret('a', 'h') }) ?? record;
    const both = add(one, { serviceAccount: account('robot') }) ?? one;
    const expected = { kubernetesSecrets: [secret('a', 'h')], kubernetesServiceAccounts: [account('robot')] };
    expect(both.credentialMapping).toEqual({ app: expected });
    const other = withCredentials(both, 'more', recordedCredentials({ secret: secret('b', 'h') }), 3000);
    expect(other?.credentialMapping.app).toEqual(expected);
    expect(add(add(record, { serviceAccount: account('robot') }) ?? record, { secret: secret('a', 'h') })).toEqual(
      both,
    );
  });

  it('a pull record is the same in whatever order secrets are added: sorted by namespace, name and UID', () => {
    const part = fc.constantFrom('a', 'b', 'c');
    const coordinates = fc.record({ uid: part, namespace: part, name: part });
    const text = ({ namespace, name, uid }: { namespace: string; name: string; uid: string }) =>
      [namespace, name, uid].join('/');
    fc.assert(
      fc.property(
        fc
          .uniqueArray(coordinates, { selector: text, minLength: 1 })
          .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
        ([all, shuffled]) => {
          const names = (listed: typeof all): string[] => {
            let now = record;
            for (const one of listed) now = add(now, { serviceAccount: one }) ?? now;
            return (now.credentialMapping.app?.kubernetesServiceAccounts ?? []).map(text);
          };
          expect(names(shuffled)).toEqual(all.map(text).sort());
        },
      ),
    );
  });

  it('parses a serialized pull record to the same value', () => {
    const names = fc.constantFrom('app', 'b/c', '__proto__', 'toString');
    const sources = fc.oneof(
      fc.constant(undefined),
      fc.record({
        secret: fc.record({ uid: fc.string(), namespace: fc.string(), name: fc.string(), credentialHash: fc.string() }),
      }),
      fc.record({ serviceAccount: fc.record({ uid: fc.string(), namespace: fc.string(), name: fc.string() }) }),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(names, sources)), (added) => {
        let now = record;
        for (const [name, source] of added) {
          now = withCredentials(now, name, recordedCredentials(source), 5000) ?? now;
        }
        expect(decodeRecord(encodeRecord(now))).toEqual(now);
      }),
    );
  });
});

describe('pull records on disk', () => {
  it("pull records on disk have the format of upstream's kubelet", () => {
    const record: PulledRecord = {
      lastUpdatedMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
      imageRef: 'sha256:1',
      credentialMapping: { app: { kubernetesSecrets: [secretOf(secret('a', 'h'))] } },
    };
    expect(encodeRecord(record)).toBe(
      '{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","lastUpdatedTime":"2026-01-02T03:04:05Z",' +
        '"imageRef":"sha256:1","credentialMapping":{"app":{"kubernetesSecrets":[{"uid":"a-uid","namespace":"shop","name":"a","credentialHash":"h"}]}}}\n',
    );
    expect(encodeIntent('app:1')).toBe(
      '{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"app:1"}\n',
    );
    const older = encodeRecord(record).replace('v1beta1', 'v1alpha1');
    expect(decodeRecord(older)).toEqual({ ...record, lastUpdatedMs: Date.UTC(2026, 0, 2, 3, 4, 5) });
  });

  const recordText = (fields: object): string =>
    JSON.stringify({ kind: 'ImagePulledRecord', apiVersion: 'kubelet.config.k8s.io/v1beta1', ...fields });
  const mappingText = (credentials: unknown): string => recordText({ credentialMapping: { app: credentials } });

  it('a pull record on disk may omit optional fields or set them to null', () => {
    const empty = { lastUpdatedMs: 0, imageRef: '', credentialMapping: {} };
    expect(decodeRecord(recordText({}))).toEqual(empty);
    expect(decodeRecord(recordText({ imageRef: null, lastUpdatedTime: null, credentialMapping: null }))).toEqual(empty);
    expect(decodeRecord(mappingText({ kubernetesSecrets: null })).credentialMapping).toEqual({ app: {} });
    expect(decodeIntent(encodeIntent('app:1'))).toBe('app:1');
    expect(decodeIntent(encodeIntent('app:1').replace('"app:1"', 'null'))).toBe('');
  });

  const at = 'credentialMapping["app"]';
  it.each([
    [recordText({ more: 1 }), 'the document: unknown field "more"'],
    [recordText({ lastUpdatedTime: 'soon' }), 'lastUpdatedTime must be a time'],
    [recordText({ lastUpdatedTime: 5 }), 'lastUpdatedTime: lastUpdatedTime is not a string'],
    [recordText({ imageRef: 5 }), 'imageRef: imageRef is not a string'],
    [recordText({ credentialMapping: [] }), 'credentialMapping is not an object'],
    [recordText({ credentialMapping: 'app' }), 'credentialMapping is not an object'],
    [mappingText(null), `${at} is not an object`],
    [mappingText({ everybody: true }), `${at}: unknown field "everybody"`],
    [mappingText({ kubernetesSecrets: {} }), `${at}.kubernetesSecrets is not a list`],
    [mappingText({ kubernetesSecrets: ['a'] }), `${at}.kubernetesSecrets[0] is not an object`],
    [mappingText({ kubernetesSecrets: [{ hash: 'a' }] }), `${at}.kubernetesSecrets[0]: unknown field "hash"`],
    [mappingText({ kubernetesSecrets: [{ uid: 1 }] }), `${at}.kubernetesSecrets[0]: uid is not a string`],
    [
      mappingText({ kubernetesServiceAccounts: [{}, { credentialHash: 'a' }] }),
      `${at}.kubernetesServiceAccounts[1]: unknown field "credentialHash"`,
    ],
  ])('W3: a pull record with %s is rejected', (text, message) => {
    expect(() => decodeRecord(text)).toThrow(new Error(message));
  });

  it.each([
    [{ image: 5 }, 'image: image is not a string'],
    [{ images: 'app' }, 'the document: unknown field "images"'],
  ])('W3: a pull intent with %j is rejected', (fields, message) => {
    const text = JSON.stringify({ kind: 'ImagePullIntent', apiVersion: 'kubelet.config.k8s.io/v1beta1', ...fields });
    expect(() => decodeIntent(text)).toThrow(new Error(message));
  });

  it.each([
    ['', /JSON/],
    ['[]', /the document is not an object/],
    [encodeIntent('app'), /kind is not ImagePulledRecord/],
    ['{"kind":"ImagePulledRecord","apiVersion":"v1"}', /apiVersion "v1" is not known/],
    [
      '{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","imageRef":"r","credentialMapping":{"a":{"nodePodsAccessible":"yes"}}}',
      /nodePodsAccessible must be true or false/,
    ],
    [
      '{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","imageRef":"r","all":true}',
      /unknown field "all"/,
    ],
  ])('W3: the text %j is rejected as a pull record or intent', (text, message) => {
    expect(() => decodeRecord(text)).toThrow(message);
    expect(() => decodeIntent(text.replace('ImagePullIntent', 'X'))).toThrow();
  });
});
