import { type Image, type ImageService, messages } from '@node-agent/cri-client';
import { expect, test } from 'vitest';
import { ImageUsers } from '../src/reconcile/image-users.ts';

const digest = `sha256:${'a'.repeat(64)}`;

function world(image: Image | null) {
  const asked: string[] = [];
  const imageService: Pick<ImageService, 'imageStatus'> = {
    imageStatus: async (request) => {
      asked.push(request.image?.image ?? '');
      return { image, info: {} };
    },
  };
  return { asked, users: new ImageUsers({ imageService }) };
}

const signal = new AbortController().signal;

test.each([
  [digest, 1],
  [`registry.example/app@${digest}`, 1],
  ['registry.example/app:latest', 2],
])('the user of the image %s is requested %d times for two container starts', async (ref, times) => {
  const { asked, users } = world(messages.Image.create({ id: digest, username: 'www' }));
  expect(await users.get(ref, signal)).toEqual({ username: 'www' });
  expect(await users.get(ref, signal)).toEqual({ username: 'www' });
  expect(asked).toEqual(Array(times).fill(ref));
});

test('the user of a missing image is requested again', async () => {
  const { asked, users } = world(null);
  expect(await users.get(digest, signal)).toEqual({ uid: 0 });
  await users.get(digest, signal);
  expect(asked).toHaveLength(2);
});

test('at most a thousand users of images are cached', async () => {
  const { asked, users } = world(messages.Image.create({ id: 'x' }));
  const ref = (n: number): string => `sha256:${n.toString(16).padStart(64, '0')}`;
  for (let n = 0; n <= 1_000; n++) await users.get(ref(n), signal);
  asked.length = 0;
  await users.get(ref(1_000), signal);
  await users.get(ref(0), signal);
  expect(asked).toEqual([ref(0)]);
});
