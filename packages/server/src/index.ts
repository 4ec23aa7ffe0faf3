export { ServerError, type ServerErrorCode } from './errors.ts';
export { answerHealthz, type HealthCheck, type HealthzQuery } from './healthz.ts';
export { HealthzServer, type HealthzServerComponents, type HealthzServerOptions } from './healthz-server.ts';
export type { ListenAddress } from './http-listener.ts';
export {
  type MetricsText,
  ReadOnlyServer,
  type ReadOnlyServerComponents,
  type ReadOnlyServerOptions,
} from './read-only-server.ts';
export type { Reply } from './reply.ts';
