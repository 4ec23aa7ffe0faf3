import assert from 'node:assert/strict';
import { type Examination, refused } from './scene.ts';

const ABSENT = 'node-agent.invalid/absent:1';

/** Compliance cases for the image service. */
export const imageExaminations: readonly Examination[] = [
  [
    'a local image has an id, tags and a size',
    async (scene) => {
      const { image } = await scene.cri.imageStatus({ image: { image: scene.options.image } });
      assert.match(image?.id ?? '', /^sha256:[0-9a-f]{64}$/);
      assert.ok((image?.size ?? 0) > 0);
      assert.ok(image?.repoTags.some((tag) => tag.includes(scene.options.image.split('/').at(-1) ?? '')));
    },
  ],
  [
    'an image is found by its id, with and without the prefix sha256',
    async (scene) => {
      const { image } = await scene.cri.imageStatus({ image: { image: scene.options.image } });
      const id = image?.id ?? '';
      const byId = await scene.cri.imageStatus({ image: { image: id } });
      assert.equal(byId.image?.id, id);
      const byHex = await scene.cri.imageStatus({ image: { image: id.replace('sha256:', '') } });
      assert.equal(byHex.image?.id, id);
    },
  ],
  [
    'an image is found by its digest, if it has one',
    async (scene) => {
      const { image } = await scene.cri.imageStatus({ image: { image: scene.options.image } });
      const [digest] = image?.repoDigests ?? [];
      if (digest === undefined) scene.skip('an imported image has no digest in this runtime');
      const byDigest = await scene.cri.imageStatus({ image: { image: digest } });
      assert.equal(byDigest.image?.id, image?.id);
    },
  ],
  [
    'the status of an absent image is empty and not an error',
    async (scene) => {
      assert.equal((await scene.cri.imageStatus({ image: { image: ABSENT } })).image, null);
    },
  ],
  [
    'images are listed',
    async (scene) => {
      const { image } = await scene.cri.imageStatus({ image: { image: scene.options.image } });
      const { images } = await scene.cri.listImages({});
      const listed = images.find((candidate) => candidate.id === image?.id);
      assert.deepEqual(listed?.repoTags, image?.repoTags);
      assert.equal(listed?.size, image?.size);
    },
  ],
  [
    'the streaming list of images contains the same images as the list',
    async (scene) => {
      const messages = await scene.collected('StreamImages', () => scene.cri.streamImages({}));
      const { images } = await scene.cri.listImages({});
      assert.deepEqual(
        messages.flatMap((message) => message.images.map((image) => image.id)).sort(),
        images.map((image) => image.id).sort(),
      );
    },
  ],
  [
    'pulling an image from a host that does not exist fails with an error that names the host',
    async (scene) => {
      await refused(scene.cri.pullImage({ image: { image: ABSENT } }), { words: /node-agent\.invalid/ });
      assert.equal((await scene.cri.imageStatus({ image: { image: ABSENT } })).image, null);
    },
  ],
  [
    'pulling a malformed image reference fails',
    async (scene) => {
      await refused(scene.cri.pullImage({ image: { image: 'UPPER/Case:x' } }), { words: /reference/ });
    },
  ],
  [
    'removing an absent image succeeds',
    async (scene) => {
      await scene.cri.removeImage({ image: { image: ABSENT } });
    },
  ],
  [
    'a removed image is gone under all of its names, and its containers keep running',
    async (scene) => {
      const name = scene.options.removableImage;
      if (name === undefined) return scene.skip('no removable image was given');
      const { image } = await scene.cri.imageStatus({ image: { image: name } });
      const id = image?.id ?? '';
      const containerId = await scene.started(await scene.hostSandbox(), ['sleep', '1000'], { image: { image: name } });
      await scene.cri.removeImage({ image: { image: name } });
      assert.equal((await scene.cri.imageStatus({ image: { image: name } })).image, null);
      assert.equal((await scene.cri.imageStatus({ image: { image: id } })).image, null);
      const status = await scene.status(containerId);
      assert.equal(status.state, 1);
      assert.notEqual(status.image?.image ?? '', '');
      assert.notEqual(status.imageRef, '');
    },
  ],
  [
    'the image file system reports its mount point and used space',
    async (scene) => {
      const { imageFilesystems } = await scene.cri.imageFsInfo({});
      const [usage] = imageFilesystems;
      assert.match(usage?.fsId?.mountpoint ?? '', /^\//);
      assert.ok((usage?.timestamp ?? 0) > 0);
      assert.notEqual(usage?.usedBytes, null);
    },
  ],
];
