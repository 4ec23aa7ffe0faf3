export type { FileFault, FileOperation, InjectedFault } from './memory/faults.ts';
export { MemoryFileSystem, type MemoryFileSystemOptions } from './memory/memory-file-system.ts';
