import { expect, test } from 'vitest';
import { pullKey } from '../src/pull-key.ts';

const annotations = { a: '1', b: '2' };
const image = { image: 'reg.example/app:1', runtimeHandler: 'runc', annotations };
const sandboxConfig = { metadata: { name: 'web', namespace: 'shop', uid: 'u1' }, annotations };
const auths = [{ username: 'u', password: 'p' }];
const key = pullKey({ image, sandboxConfig }, auths);

test.each([
  ['another image', { image: { ...image, image: 'reg.example/app:2' } }],
  ['another handler', { image: { ...image, runtimeHandler: 'kata' } }],
  ['none', { image: { image: image.image, annotations } }],
  ['another annotation of the image', { image: { ...image, annotations: { a: '1', b: '3' } } }],
  [
    'another namespace',
    { sandboxConfig: { ...sandboxConfig, metadata: { ...sandboxConfig.metadata, namespace: 'x' } } },
  ],
  ['another annotation of the sandbox', { sandboxConfig: { ...sandboxConfig, annotations: { a: '1' } } }],
])('the key of a shared pull differs for %s', (_what, changed) => {
  expect(pullKey({ image, sandboxConfig, ...changed }, auths)).not.toBe(key);
});

test('the key of a shared pull differs for another credential', () => {
  expect(pullKey({ image, sandboxConfig }, [])).not.toBe(key);
});

test("the key of a shared pull is equal for another pod of the namespace, regardless of the order of annotations and of the kubelet's own annotations", () => {
  const others = { b: '2', 'kubernetes.io/config.seen': 'now', a: '1', 'kubernetes.io/config.hash': 'h' };
  const metadata = { name: 'other', namespace: 'shop', uid: 'u2' };
  const same = { image: { ...image, annotations: others }, sandboxConfig: { metadata, annotations: others } };
  expect(pullKey(same, auths)).toBe(key);
});
