// From packages/images/README.md, which explains the program.
import { ImageManager } from '@node-agent/images';

const images = new ImageManager({
  // A CriClient in earnest; here a runtime that has no image and finds no registry.
  images: {
    imageStatus: async () => ({ image: null, info: {} }),
    pullImage: () => Promise.reject(new Error('registry.example: no such host')),
  },
  recorder: { event: (_object, type, reason, message) => console.log(type, reason, message) },
});
const pod = { metadata: { name: 'web', namespace: 'default', uid: '1' }, spec: { containers: [{ name: 'main' }] } };
const container = { name: 'main', image: 'registry.example/app:1' };
for (const attempt of [1, 2]) {
  await images
    .ensureImageExists(pod, container, {}, '', new AbortController().signal)
    .catch((error) => console.log(`try ${attempt}: ${error.code}: ${error.message}`));
}
