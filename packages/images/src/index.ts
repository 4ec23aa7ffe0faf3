export { ImageError, type ImageErrorCode } from './errors.ts';
export {
  ImageManager,
  type ImageManagerComponents,
  type ImageManagerOptions,
  type PullCredentials,
  type PullRecords,
} from './image-manager.ts';
