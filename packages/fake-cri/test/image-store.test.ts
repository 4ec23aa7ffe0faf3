import { expect, test } from 'vitest';
import { fullReference, parseImageName } from '../src/core/image-reference.ts';
import { busyboxImage, FakeRuntime } from '../src/index.ts';
import { world } from './support.ts';

test.each([
  ['busybox', 'docker.io/library/busybox:latest'],
  ['busybox:1.36', 'docker.io/library/busybox:1.36'],
  ['user/app', 'docker.io/user/app:latest'],
  ['localhost/app:v1', 'localhost/app:v1'],
  ['registry:5000/a/b', 'registry:5000/a/b:latest'],
  ['quay.io/a/b_c-d.e:T', 'quay.io/a/b_c-d.e:T'],
  [`quay.io/a@sha256:${'0'.repeat(64)}`, `quay.io/a@sha256:${'0'.repeat(64)}`],
  [`quay.io/a:v1@sha256:${'0'.repeat(64)}`, `quay.io/a@sha256:${'0'.repeat(64)}`],
])('the image reference %s is completed to %s', (reference, full) => {
  const name = parseImageName(reference);
  expect(name && fullReference(name)).toBe(full);
});

test.each(['', 'UPPER', 'a//b', 'a:b:c', 'a@sha256:12', 'a/b/', ':tag', 'a b', '-a'])(
  '%j is rejected as an image reference',
  (text) => {
    expect(parseImageName(text)).toBeUndefined();
  },
);

test("a pull takes pullMs, and the pulled image has the registry's size and is found by tag, digest and id", async () => {
  const { clock, runtime } = await world({
    registry: (reference) => ({ image: { tags: [reference], sizeBytes: 123 }, pullMs: 5000 }),
  });
  const pulling = runtime.pullImage({ image: { image: 'quay.io/app:v1' } });
  await clock.advance(4999);
  expect((await runtime.imageStatus({ image: { image: 'quay.io/app:v1' } })).image).toBeNull();
  await clock.advance(1);
  const { imageRef } = await pulling;
  const { image } = await runtime.imageStatus({ image: { image: 'quay.io/app:v1' } });
  expect(image).toMatchObject({ id: imageRef, repoTags: ['quay.io/app:v1'], size: 123, pinned: false });
  const digest = image?.repoDigests[0] ?? '';
  expect(digest).toMatch(/^quay\.io\/app@sha256:[0-9a-f]{64}$/);
  for (const name of [digest, imageRef, imageRef.slice('sha256:'.length), imageRef.slice('sha256:'.length, 20)]) {
    expect((await runtime.imageStatus({ image: { image: name } })).image?.id).toBe(imageRef);
  }
  expect(await runtime.pullImage({ image: { image: digest } })).toMatchObject({ imageRef });
});

test('a pull without the credentials that the registry requires fails', async () => {
  const credentials = { username: 'me', password: 'secret' };
  const { runtime } = await world({ registry: (reference) => ({ image: { tags: [reference] }, credentials }) });
  const image = { image: 'quay.io/private:v1' };
  await expect(runtime.pullImage({ image })).rejects.toMatchObject({
    details: expect.stringContaining('authorization'),
  });
  await expect(runtime.pullImage({ image, auth: { username: 'me', password: 'wrong' } })).rejects.toThrow();
  await runtime.pullImage({ image, auth: credentials });
});

test('a pull of an absent image and an error of the registry give different errors', async () => {
  const { runtime } = await world({
    registry: (reference) =>
      reference.includes('broken') ? { error: { code: 'UNAVAILABLE', message: 'the registry is down' } } : undefined,
  });
  await expect(runtime.pullImage({ image: { image: 'x/absent' } })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(runtime.pullImage({ image: { image: 'x/broken' } })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('a pull of a tag with new content moves the tag from the old image to the new one', async () => {
  let content = 'one';
  const { runtime } = await world({ registry: (reference) => ({ image: { tags: [reference], content } }) });
  const first = await runtime.pullImage({ image: { image: 'app:v1' } });
  content = 'two';
  const second = await runtime.pullImage({ image: { image: 'app:v1' } });
  expect(second.imageRef).not.toBe(first.imageRef);
  expect((await runtime.imageStatus({ image: { image: 'app:v1' } })).image?.id).toBe(second.imageRef);
  expect((await runtime.imageStatus({ image: { image: first.imageRef } })).image?.repoTags).toEqual([]);
});

test('the pause image is present and pinned, and a malformed tag is rejected', async () => {
  const it = await world();
  const { images } = await it.runtime.listImages({});
  expect(images.filter((image) => image.pinned).map((image) => image.repoTags)).toEqual([
    ['registry.k8s.io/pause:3.10'],
  ]);
  const random = { next: () => 0.5 };
  expect(() => new FakeRuntime({ ...it, random }, { images: [busyboxImage('Not A Tag')] })).toThrow(TypeError);
});
