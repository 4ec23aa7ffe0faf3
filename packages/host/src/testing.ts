export type { FileFault, FileOperation, InjectedFault } from './memory/faults.ts';
export { MemoryFileSystem, type MemoryFileSystemOptions } from './memory/memory-file-system.ts';
export { type MemoryForeignHost, memoryForeignFiles } from './memory/memory-helper.ts';
