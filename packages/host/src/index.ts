export { removeUnfinishedFiles } from './atomic-write.ts';
export { bytesOfText, textOfBytes } from './byte-names.ts';
export type {
  AtomicWriteOptions,
  BeneathOptions,
  DirectoryEntry,
  FileHandle,
  FileKind,
  FileStat,
  FileSystem,
  HeldPlace,
  HoldOptions,
  OnChange,
  TreeUsage,
  UsageOptions,
} from './file-system.ts';
export type { ForeignFiles } from './foreign/foreign-files.ts';
export type { GuardedFilesOptions } from './foreign/guarded-files.ts';
export { type Mount, type Mounts, MountTable, NewestMountTable, parseMounts } from './foreign/mount-table.ts';
export { nodeForeignFiles } from './foreign/node-foreign-files.ts';
export type { FileSystemSize, GivenTree } from './helper/protocol.ts';
export { kernelFileSystem } from './kernel-file-system.ts';
export { type KernelFiles, nodeKernelFiles } from './kernel-files.ts';
export { nodeFileSystem } from './node-file-system.ts';
export { readBounded, readFileBeneath, readFileBounded } from './read-bounded.ts';
export { type ProgramResult, type ProgramRun, runProgram } from './run-program.ts';
export { errorCode, isMissing, type SystemError, systemError } from './system-error.ts';
