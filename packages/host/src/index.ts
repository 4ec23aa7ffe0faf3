export { isTemporaryName } from './atomic-write.ts';
export type { DirectoryEntry, FileHandle, FileKind, FileStat, FileSystem } from './file-system.ts';
export { nodeFileSystem } from './node-file-system.ts';
export { errorCode, isMissing, type SystemError, systemError } from './system-error.ts';
