export { captureLogger, type LogLine } from './capture-logger.ts';
