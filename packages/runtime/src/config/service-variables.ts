import type { EnvironmentVariable } from './environment.ts';

/** The fields of a v1 Service that an environment shows. */
export interface ServiceData {
  readonly metadata: { readonly name?: string; readonly namespace?: string };
  readonly spec?: {
    readonly clusterIP?: string;
    readonly ports?: readonly { readonly name?: string; readonly port: number; readonly protocol?: string }[];
  };
}

/** Services of namespace `default` that every pod sees, so that programs find the API server. */
const MASTER_SERVICES = ['kubernetes'];

/**
 * Returns the environment variables by which a pod finds services: always the service of the API server, and the
 * services of the pod's namespace if service links are enabled. Headless services have no variables. The variables are
 * named like those of Docker's container links. Upstream: `pkg/kubelet/envvars`, `getServiceEnvVarMap` in
 * `pkg/kubelet/kubelet_pods.go`.
 */
export function serviceVariables(
  services: Iterable<ServiceData>,
  namespace: string,
  enableServiceLinks: boolean,
): readonly EnvironmentVariable[] {
  const chosen = new Map<string, ServiceData>();
  for (const service of services) {
    const { name = '', namespace: ofNamespace = '' } = service.metadata;
    const address = service.spec?.clusterIP ?? '';
    if (address === '' || address === 'None') continue;
    const isMaster = ofNamespace === 'default' && MASTER_SERVICES.includes(name);
    // A service of the pod's own namespace hides the master service of the same name.
    if (isMaster) chosen.set(name, chosen.get(name) ?? service);
    else if (ofNamespace === namespace && enableServiceLinks) chosen.set(name, service);
  }
  const sorted = [...chosen].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.flatMap(([name, service]) => variablesOf(name, service));
}

function variablesOf(name: string, { spec }: ServiceData): readonly EnvironmentVariable[] {
  const { clusterIP: address = '', ports = [] } = spec ?? {};
  const prefix = variableName(name);
  const variables: EnvironmentVariable[] = [{ name: `${prefix}_SERVICE_HOST`, value: address }];
  const [first] = ports;
  if (first !== undefined) variables.push({ name: `${prefix}_SERVICE_PORT`, value: String(first.port) });
  for (const { name: portName, port } of ports) {
    if (portName) variables.push({ name: `${prefix}_SERVICE_PORT_${variableName(portName)}`, value: String(port) });
  }
  const host = address.includes(':') ? `[${address}]` : address;
  for (const [index, { port, protocol: given }] of ports.entries()) {
    const protocol = given || 'TCP';
    const url = `${protocol.toLowerCase()}://${host}:${port}`;
    const link = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    if (index === 0) variables.push({ name: `${prefix}_PORT`, value: url });
    variables.push(
      { name: link, value: url },
      { name: `${link}_PROTO`, value: protocol.toLowerCase() },
      { name: `${link}_PORT`, value: String(port) },
      { name: `${link}_ADDR`, value: address },
    );
  }
  return variables;
}

function variableName(name: string): string {
  return name.replaceAll('-', '_').toUpperCase();
}
