export { MemorySockets } from './memory-sockets.ts';
