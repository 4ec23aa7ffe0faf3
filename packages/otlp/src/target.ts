/** Address of a collector if none is configured, as in OpenTelemetry. */
const DEFAULT_ENDPOINT = 'localhost:4317';

/**
 * Converts `tracing.endpoint` into a gRPC target: `host:port`, `dns:///host:port` or `unix:///path`.
 * @throws Error for a scheme that Node.js cannot connect to
 */
export function collectorTarget(endpoint: string = DEFAULT_ENDPOINT): string {
  const [, scheme, rest = ''] = /^(dns|unix|unix-abstract):(.*)$/.exec(endpoint) ?? [];
  switch (scheme) {
    case undefined:
      return `dns:${endpoint}`;
    case 'dns':
      // The name server in an endpoint such as `dns://8.8.8.8/host` is ignored; the resolver of the host is used.
      return `dns:${rest.replace(/^\/\/[^/]*\//, '')}`;
    case 'unix':
      return `unix:${rest.replace(/^\/\/(?=\/)/, '')}`;
    default:
      throw new Error(`collector ${endpoint}: abstract sockets are not supported by Node.js; use unix:///path`);
  }
}
