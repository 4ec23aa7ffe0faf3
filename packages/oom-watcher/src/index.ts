export { type KmsgFile, type OpenKmsg, openKmsg } from './kmsg.ts';
export { type KmsgRecord, parseKmsgRecord } from './kmsg-record.ts';
export { type MemoryEvents, parseMemoryEvents } from './memory-events.ts';
export { nextOom, type OomKill, type OomReport, systemOomMessage } from './oom-parser.ts';
export { OomWatcher, type OomWatcherComponents, type OomWatcherOptions } from './oom-watcher.ts';
