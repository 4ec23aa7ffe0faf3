export type { AgeStore } from './age-checkpoint.ts';
export { type DiskSize, type DiskUsage, diskUsage } from './disk-usage.ts';
export { ImageGcError, type ImageGcErrorCode } from './errors.ts';
export { ImageGc, type ImageGcComponents, type ImageGcOptions, type ImageGcPlan } from './image-gc.ts';
export { imagesInUse } from './image-names.ts';
export { type ImageRecord, type ImageTimes, observeImages } from './image-record.ts';
export type { ImageGcCri } from './image-survey.ts';
export { type ListedImage, listedImage } from './listed-image.ts';
export {
  expiredImages,
  type ImageVerdict,
  imagesToFree,
  type PlannedImage,
  planRemoval,
  removalOrder,
} from './plan-removal.ts';
export { collectsAnything, defaultPolicy, type ImageGcPolicy } from './policy.ts';
