export { ChangeFeed, type ObjectChange } from './change-feed.ts';
export {
  KubeError,
  type KubeErrorCode,
  type KubeErrorOptions,
  type StatusCause,
  type StatusDetails,
  type StatusReason,
} from './errors.ts';
export { objectKey } from './object-key.ts';
export type { JsonPatchOperation, Patch } from './patch.ts';
export { fieldSelector, type ListOptions, type ResourceVersionMatch, type WatchOptions } from './query.ts';
export { type RateLimiter, type TokenBucketOptions, TokenBucketRateLimiter } from './rate-limiter.ts';
export { Reflector, type ReflectorComponents, type ReflectorOptions } from './reflector.ts';
export { apiVersionOf, type KubeObject, type Resource } from './resource.ts';
export { type ObjectOf, type Resources, resources } from './resources.ts';
export {
  type DeleteOptions,
  type ObjectKey,
  type ObjectList,
  type PatchOptions,
  RestClient,
  type RestClientComponents,
  type RestClientOptions,
  type WriteOptions,
} from './rest-client.ts';
export type { HttpRequest, HttpResponse, HttpTransport } from './transport.ts';
export type { WatchEvent } from './watch-events.ts';
