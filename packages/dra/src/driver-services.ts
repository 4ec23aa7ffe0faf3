/** gRPC services of a DRA driver that this kubelet calls (`DRAPluginService` of `k8s.io/kubelet/pkg/apis/dra`). */
const DRIVER_SERVICES = ['v1.DRAPlugin', 'v1beta1.DRAPlugin'] as const;

/** Name of a service in {@link DRIVER_SERVICES}. */
export type DriverService = (typeof DRIVER_SERVICES)[number];

/** Maximum length of a driver's name (`ValidateCSIDriverName` in `pkg/apis/core/validation/validation.go`). */
const MAX_NAME = 63;
/** Form of a driver's name. The API server accepts capital letters too, and does not convert them. */
const DNS_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/i;

/**
 * Chooses the first service in a plugin's list that this kubelet supports (`validateSupportedServices` in
 * `pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go`). @returns the service, or why the plugin cannot be used
 */
export function chooseService(
  driver: string,
  endpoint: string,
  offered: readonly string[],
): { readonly service: DriverService } | { readonly problem: string } {
  if (driver.length > MAX_NAME || !DNS_NAME.test(driver)) {
    const rule = `must be a DNS subdomain of at most ${MAX_NAME} characters`;
    return { problem: `invalid name of DRA driver plugin ${JSON.stringify(driver.slice(0, MAX_NAME))}: ${rule}` };
  }
  const service = DRIVER_SERVICES.find((known) => known === offered.find(isSupported));
  if (service !== undefined) return { service };
  const reason =
    offered.length === 0
      ? 'empty list of supported gRPC services (aka supported versions)'
      : `none of services supported by the plugin (${quoted(offered)}) are supported by the kubelet (${quoted(DRIVER_SERVICES)})`;
  return {
    problem: `invalid supported gRPC versions of DRA driver plugin ${driver} at endpoint ${endpoint}: ${reason}`,
  };
}

function isSupported(service: string): boolean {
  return DRIVER_SERVICES.some((known) => known === service);
}

/** Formats a list like Go's %q. */
function quoted(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;
}
