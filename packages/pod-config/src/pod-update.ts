export type { PodOperation, PodUpdate } from '@node-agent/contracts';
