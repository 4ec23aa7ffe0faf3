export { type CollectedSpan, Collector } from './collector.ts';
