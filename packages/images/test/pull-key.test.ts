import { expect, test } from 'vitest';
import { pullKey } from '../src/pull-key.ts';

const annotations = { a: '1', b: '2' };
const image = { image: 'reg.example/app:1', runtimeHandler: 'runc', annotations };
const sandboxConfig = { metadata: { name: 'web', namespace: 'shop', uid: 'u1' }, annotations };
const auths = [{ username: 'u', password: 'p' }];
const key = pullKey({ image, sandboxConfig }, auths);

test.each([
  ['the image', { image: { ...image, image: 'reg.example/app:2' } }],
  ['the runtime handler', { image: { ...image, runtimeHandler: 'kata' } }],
  ['the presence of a runtime handler', { image: { image: image.image, annotations } }],
  ['the annotations of the image', { image: { ...image, annotations: { a: '1', b: '3' } } }],
  ['the namespace', { sandboxConfig: { ...sandboxConfig, metadata: { ...sandboxConfig.metadata, namespace: 'x' } } }],
  ['the annotations of the sandbox', { sandboxConfig: { ...sandboxConfig, annotations: { a: '1' } } }],
])('requests for an image do not share a pull if they differ in %s', (_what, changed) => {
  expect(pullKey({ image, sandboxConfig, ...changed }, auths)).not.toBe(key);
});

test('requests for an image do not share a pull if their credentials differ', () => {
  expect(pullKey({ image, sandboxConfig }, [])).not.toBe(key);
});

test("requests of pods in one namespace share a pull, regardless of the order of annotations and of the kubelet's own annotations", () => {
  const others = { b: '2', 'kubernetes.io/config.seen': 'now', a: '1', 'kubernetes.io/config.hash': 'h' };
  const metadata = { name: 'other', namespace: 'shop', uid: 'u2' };
  const same = { image: { ...image, annotations: others }, sandboxConfig: { metadata, annotations: others } };
  expect(pullKey(same, auths)).toBe(key);
});
