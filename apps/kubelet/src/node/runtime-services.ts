import type { ImageService, RuntimeService } from '@node-agent/cri-client';

/**
 * Combines a runtime service with the image service of another endpoint (`imageServiceEndpoint`). If both are the same
 * object, returns that object.
 */
export function withImageService<R extends RuntimeService>(
  runtime: R & ImageService,
  images: ImageService,
): R & ImageService {
  if (images === runtime) return runtime;
  const own: Record<keyof ImageService, true> = {
    listImages: true,
    streamImages: true,
    imageStatus: true,
    pullImage: true,
    removeImage: true,
    imageFsInfo: true,
  };
  return new Proxy(runtime, {
    get(target, property) {
      const source = Object.hasOwn(own, property) ? images : target;
      const value: unknown = Reflect.get(source, property, source);
      return typeof value === 'function' ? value.bind(source) : value;
    },
  });
}
