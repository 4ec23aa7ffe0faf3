export { type CheckpointFiles, CheckpointStore, type CheckpointStoreOptions } from './checkpoint-store.ts';
export { contentChecksum, type JsonObject, type JsonValue } from './checksum.ts';
export { compareUtf8 } from './compare-utf8.ts';
export { CheckpointError, type CheckpointErrorCode } from './errors.ts';
export { fnv32a } from './fnv.ts';
export { type GoDump, goMap, goPointer, goScalar, goSlice, goStruct } from './go-dump.ts';
