export { MemoryMounter, type MountableFiles, type MountChange } from './mount/memory-mounter.ts';
