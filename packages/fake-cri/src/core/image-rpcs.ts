import { failure } from './failure.ts';
import { batches } from './filters.ts';
import { fullReference, parseImageName } from './image-reference.ts';
import { DEFAULT_IMAGE_SIZE_BYTES, type Registry } from './image-store.ts';
import { toImage } from './messages.ts';
import type { Handlers } from './rpcs.ts';
import type { RuntimeState } from './state.ts';

type ImageHandlers = Pick<
  Handlers,
  'listImages' | 'streamImages' | 'imageStatus' | 'pullImage' | 'removeImage' | 'imageFsInfo'
>;

/** Returns the handlers of the image service, which follow containerd's rules. ListImages ignores its filter. */
export function imageRpcs(state: RuntimeState, registry: Registry): ImageHandlers {
  return {
    async listImages() {
      return { images: state.images.all.map(toImage) };
    },

    async *streamImages() {
      for (const images of batches(state.images.all.map(toImage), state.streamBatchSize)) yield { images };
    },

    async imageStatus({ image, verbose }) {
      const record = state.images.find(image?.image ?? '');
      if (record === undefined) return {};
      const { entrypoint, cmd, env, workingDir } = record.image;
      const info = { imageSpec: { config: { Entrypoint: entrypoint, Cmd: cmd, Env: env, WorkingDir: workingDir } } };
      return { image: toImage(record), info: verbose ? { info: JSON.stringify(info) } : {} };
    },

    async pullImage({ image, auth }, call) {
      const reference = image?.image ?? '';
      const name = parseImageName(reference);
      if (name === undefined) {
        throw failure('UNKNOWN', `failed to parse image reference "${reference}": invalid reference format`);
      }
      const full = fullReference(name);
      // An image with the requested digest cannot differ from the local one, so it is not pulled again.
      const local = name.digest === undefined ? undefined : state.images.find(full);
      if (local !== undefined) return { imageRef: local.id };
      const cannot = `failed to pull and unpack image "${full}": failed to resolve reference "${full}"`;
      const answer = registry(full);
      await call.sleep(answer?.pullMs ?? 0);
      if (answer === undefined) throw failure('NOT_FOUND', `${cannot}: ${full}: not found`);
      if ('error' in answer) throw failure(answer.error.code, `${cannot}: ${answer.error.message}`);
      const { credentials } = answer;
      if (credentials && (auth?.username !== credentials.username || auth.password !== credentials.password)) {
        throw failure(
          'UNKNOWN',
          `${cannot}: pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials`,
        );
      }
      return { imageRef: state.images.add({ ...answer.image, tags: [full] }, name).id };
    },

    async removeImage({ image }) {
      const record = state.images.find(image?.image ?? '');
      if (record !== undefined) state.images.remove(record);
      return {};
    },

    async imageFsInfo() {
      const images = state.images.all;
      const usedBytes = images.reduce((sum, { image }) => sum + (image.sizeBytes ?? DEFAULT_IMAGE_SIZE_BYTES), 0);
      const usage = {
        timestamp: state.stampNs(),
        fsId: { mountpoint: state.mountpoint },
        usedBytes: { value: usedBytes },
        inodesUsed: { value: images.length * 100 },
      };
      return { imageFilesystems: [usage], containerFilesystems: [usage] };
    },
  };
}
