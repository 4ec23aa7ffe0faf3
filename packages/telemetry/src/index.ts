export { type ConsoleLoggerOptions, consoleLogger } from './console-logger.ts';
export { createLogger, type LoggerOptions } from './create-logger.ts';
export { aggregateText, errorText } from './error-text.ts';
export {
  fanOutEvents,
  LoggingEventRecorder,
  MemoryEventRecorder,
  type RecordedEvent,
} from './event-recorders.ts';
export { type EventRecorder, type EventType, eventReasons, noEvents, type ObjectReference } from './events.ts';
export { goDuration } from './go-duration.ts';
export type { ImportPino } from './import-pino.ts';
export { LastingProblem, type LastingProblemMessages } from './lasting-problem.ts';
export { type LogLevel, LogLevelSwitch, levelOfVerbosity } from './log-level.ts';
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
export { MetricsRegistry } from './metrics-registry.ts';
export { printable, printableJson, printableLine } from './printable.ts';
export { type ProcessFigures, processMetrics } from './process-metrics.ts';
export { type EndedSpan, RecordingTracer, type RecordingTracerComponents } from './recording-tracer.ts';
export { SplitOutput, type SplitOutputOptions } from './split-output.ts';
export {
  formatTraceparent,
  parseTraceparent,
  type SpanContext,
  spanContextOf,
  type TraceHeaders,
  traceHeaders,
} from './trace-context.ts';
export {
  type AttributeValue,
  noSpan,
  noTracer,
  type Span,
  type SpanAttributes,
  type SpanKind,
  type SpanStart,
  type Tracer,
} from './tracer.ts';
export type { ModuleVerbosity } from './vmodule.ts';
export { type CommonPorts, type WithDefaults, withDefaults } from './with-defaults.ts';
