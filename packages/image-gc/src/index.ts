export type { AgeStore } from './age-checkpoint.ts';
export { type DiskSize, type DiskUsage, diskUsage } from './disk-usage.ts';
export { ImageGcError, type ImageGcErrorCode } from './errors.ts';
export { ImageGc, type ImageGcComponents, type ImageGcOptions } from './image-gc.ts';
export { imagesInUse, type ListedImage } from './image-names.ts';
export { type ImageRecord, type ImageTimes, observeImages } from './image-record.ts';
export type { ImageGcCri } from './image-survey.ts';
export { expiredImages, imagesToFree, removalOrder } from './plan-removal.ts';
export { collectsAnything, defaultPolicy, type ImageGcPolicy } from './policy.ts';
