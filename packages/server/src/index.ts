export { AccessControl, type AccessControlComponents, type Admission } from './access/access-control.ts';
export {
  Authentication,
  type AuthenticationComponents,
  type AuthenticationOptions,
  type Authenticator,
  type Identity,
  type ShownCredentials,
} from './access/authentication.ts';
export {
  type Authorization,
  alwaysAllow,
  WebhookAuthorization,
  type WebhookAuthorizationComponents,
  type WebhookAuthorizationOptions,
} from './access/authorization.ts';
export { type ClientAuthorities, ClientCaFile, type ClientCaFileComponents } from './access/client-ca-file.ts';
export type { ClientCertificate } from './access/client-certificate.ts';
export { type RequestAttributes, requestAttributes } from './access/request-attributes.ts';
export type { AccessReviewSpec, AccessReviewStatus, Reviewer, TokenReviewStatus } from './access/reviews.ts';
export type { UserInfo } from './access/user.ts';
export { AdminServer, type AdminServerComponents, type AdminServerOptions } from './admin-server.ts';
export type { Call, Endpoint, Endpoints, UpgradeCall, UpgradeEndpoint, UpgradeEndpoints } from './endpoints/call.ts';
export {
  type CheckpointComponents,
  type CheckpointOptions,
  checkpointEndpoints,
} from './endpoints/checkpoint-endpoint.ts';
export { type DisabledEndpoint, disabledEndpoints } from './endpoints/disabled-endpoints.ts';
export {
  type HostLogComponents,
  type HostLogFile,
  type HostLogFiles,
  type HostLogOptions,
  hostLogEndpoints,
} from './endpoints/host-log-endpoint.ts';
export {
  type InventoryComponents,
  type InventoryImage,
  inventoryEndpoints,
} from './endpoints/inventory-endpoints.ts';
export { type LogComponents, type LogEndpointOptions, logEndpoints } from './endpoints/log-endpoint.ts';
export type { ContainerLogOptions } from './endpoints/log-query.ts';
export type { MetricsText, PageText } from './endpoints/metrics-answer.ts';
export type { RunningPods } from './endpoints/running-container.ts';
export { type StateComponents, stateEndpoints } from './endpoints/state-endpoints.ts';
export { type StatsPages, type StatsPagesComponents, statsEndpoints } from './endpoints/stats-endpoints.ts';
export { type Verbosity, verbosityEndpoints } from './endpoints/verbosity-endpoint.ts';
export { type StatuszFacts, type ZpageComponents, zpageEndpoints } from './endpoints/zpages.ts';
export { ServerError, type ServerErrorCode } from './errors.ts';
export { HealthcheckSlis } from './health/healthcheck-slis.ts';
export { answerHealthz, type HealthCheck, type HealthzQuery } from './health/healthz.ts';
export { HealthzServer, type HealthzServerComponents, type HealthzServerOptions } from './health/healthz-server.ts';
export type { Answer, Exchange, StreamedReply, UpgradeRequest } from './http/exchange.ts';
export type { BytesReply, Reply } from './http/reply.ts';
export type { ListenAddress } from './listen/http-listener.ts';
export type { SecuredListenerComponents, ServerLimits, ServingCertificate } from './listen/secured-listener.ts';
export type { TlsSettings } from './listen/tls-settings.ts';
export {
  type LoopbackCall,
  LoopbackServer,
  type LoopbackServerComponents,
  type LoopbackServerOptions,
} from './loopback-server.ts';
export type { NodeJournal } from './node-log/journal.ts';
export { journalctl } from './node-log/journalctl.ts';
export type { TaskStack } from './pprof/async-tasks.ts';
export { InspectorProfiler, type InspectorProfilerComponents } from './pprof/inspector-profiler.ts';
export { type PprofComponents, pprofEndpoints } from './pprof/pprof-endpoints.ts';
export type { Frame, Profile, Sample, ValueType } from './pprof/profile.ts';
export type { Profiler } from './pprof/profiler.ts';
export {
  ReadOnlyServer,
  type ReadOnlyServerComponents,
  type ReadOnlyServerOptions,
} from './read-only-server.ts';
export type { RouteParams, SecuredEndpoint } from './secured-routes.ts';
export { SecuredServer, type SecuredServerComponents, type SecuredServerOptions } from './secured-server.ts';
export { type StreamComponents, type StreamOptions, streamEndpoints } from './streams/stream-endpoints.ts';
export type { Streamed, StreamNode, StreamRuntime } from './streams/stream-location.ts';
export type { RemoteCommandOptions } from './streams/stream-options.ts';
