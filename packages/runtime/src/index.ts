export {
  containerAnnotations,
  containerLabels,
  criAnnotations,
  criLabels,
  type ParsedAnnotations,
  type ParsedLabels,
  parseContainerAnnotations,
  parseContainerLabels,
  sandboxAnnotations,
  sandboxLabels,
} from './config/labels.ts';
export { containerLogPath, DEFAULT_CONTAINER_LOGS_DIRECTORY, legacyLogLink, podLogsPath } from './config/log-paths.ts';
