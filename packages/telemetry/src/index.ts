export { type EventRecorder, type EventType, eventReasons, noEvents, type ObjectReference } from './events.ts';
export { type LogFields, type Logger, silentLogger } from './logger.ts';
export {
  type Counter,
  type Gauge,
  type Histogram,
  type HistogramOptions,
  type Labels,
  type MetricOptions,
  type Metrics,
  noMetrics,
} from './metrics.ts';
