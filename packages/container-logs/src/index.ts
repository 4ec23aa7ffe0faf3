export {
  ContainerLogManager,
  type ContainerLogManagerComponents,
  type ContainerLogManagerOptions,
} from './container-log-manager.ts';
export { type CriLogHeader, type LogStream, parseCriLogLine } from './cri-log-line.ts';
export { ContainerLogError, type ContainerLogErrorCode } from './errors.ts';
export type { LogChunk } from './log-filter.ts';
export type { LogReadOptions } from './log-options.ts';
export { ContainerLogReader } from './log-reader.ts';
export type { ContainerLogReaderComponents, ReaderFiles } from './reader-components.ts';
export type { RotationFiles } from './rotate.ts';
