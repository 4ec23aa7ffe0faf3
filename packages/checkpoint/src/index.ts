export { type CheckpointFiles, CheckpointStore, type CheckpointStoreOptions } from './checkpoint-store.ts';
export { contentChecksum, type JsonObject, type JsonValue } from './checksum.ts';
export { CheckpointError, type CheckpointErrorCode } from './errors.ts';
