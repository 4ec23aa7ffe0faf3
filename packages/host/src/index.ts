export type { DirectoryEntry, FileHandle, FileKind, FileStat, FileSystem } from './file-system.ts';
