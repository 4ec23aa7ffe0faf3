export { ImageError, type ImageErrorCode } from './errors.ts';
export {
  ImageManager,
  type ImageManagerComponents,
  type ImageManagerOptions,
  type PullCredentials,
  type PullRecords,
  type PullTarget,
} from './image-manager.ts';
export {
  ImagePullRecords,
  type ImagePullRecordsComponents,
  type ImagePullRecordsOptions,
} from './image-pull-records.ts';
export type { Coordinates, CredentialSource, PullCredential } from './pull-credential.ts';
export type { PullRecordFilesComponents } from './pull-record-files.ts';
export type { VerificationPolicy } from './verification-policy.ts';
