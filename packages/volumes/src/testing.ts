export { MemoryMounter, type MountChange } from './mount/memory-mounter.ts';
