export { AccessControl, type AccessControlComponents, type Admission } from './access-control.ts';
export {
  Authentication,
  type AuthenticationComponents,
  type AuthenticationOptions,
  type Authenticator,
  type Identity,
  type ShownCredentials,
} from './authentication.ts';
export {
  type Authorization,
  alwaysAllow,
  WebhookAuthorization,
  type WebhookAuthorizationComponents,
  type WebhookAuthorizationOptions,
} from './authorization.ts';
export type { Call, Endpoint, Endpoints, UpgradeCall, UpgradeEndpoint, UpgradeEndpoints } from './call.ts';
export { type CheckpointComponents, type CheckpointOptions, checkpointEndpoints } from './checkpoint-endpoint.ts';
export { type ClientAuthorities, ClientCaFile, type ClientCaFileComponents } from './client-ca-file.ts';
export type { ClientCertificate } from './client-certificate.ts';
export { type DisabledEndpoint, disabledEndpoints } from './disabled-endpoints.ts';
export { ServerError, type ServerErrorCode } from './errors.ts';
export type { Answer, Exchange, StreamedReply, UpgradeRequest } from './exchange.ts';
export { HealthcheckSlis } from './healthcheck-slis.ts';
export { answerHealthz, type HealthCheck, type HealthzQuery } from './healthz.ts';
export { HealthzServer, type HealthzServerComponents, type HealthzServerOptions } from './healthz-server.ts';
export {
  type HostLogComponents,
  type HostLogFile,
  type HostLogFiles,
  type HostLogOptions,
  hostLogEndpoints,
} from './host-log-endpoint.ts';
export type { ListenAddress } from './http-listener.ts';
export { type LogComponents, type LogEndpointOptions, logEndpoints } from './log-endpoint.ts';
export type { ContainerLogOptions } from './log-query.ts';
export type { MetricsText } from './metrics-answer.ts';
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
export type { BytesReply, Reply } from './reply.ts';
export { type RequestAttributes, requestAttributes } from './request-attributes.ts';
export type { AccessReviewSpec, AccessReviewStatus, Reviewer, TokenReviewStatus } from './reviews.ts';
export type { SecuredListenerComponents, ServerLimits, ServingCertificate } from './secured-listener.ts';
export type { RouteParams, SecuredEndpoint } from './secured-routes.ts';
export { SecuredServer, type SecuredServerComponents, type SecuredServerOptions } from './secured-server.ts';
export { type StateComponents, stateEndpoints } from './state-endpoints.ts';
export { type StatsPages, type StatsPagesComponents, statsEndpoints } from './stats-endpoints.ts';
export { type StreamComponents, type StreamOptions, streamEndpoints } from './stream-endpoints.ts';
export type { Streamed, StreamNode, StreamRuntime } from './stream-location.ts';
export type { RemoteCommandOptions } from './stream-options.ts';
export type { TlsSettings } from './tls-settings.ts';
export type { UserInfo } from './user.ts';
export { type Verbosity, verbosityEndpoints } from './verbosity-endpoint.ts';
export { type StatuszFacts, type ZpageComponents, zpageEndpoints } from './zpages.ts';
