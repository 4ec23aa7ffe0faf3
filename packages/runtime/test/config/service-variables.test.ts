import { describe, expect, it } from 'vitest';
import { type ServiceData, serviceVariables } from '../../src/config/service-variables.ts';

const kubernetes: ServiceData = {
  metadata: { namespace: 'default', name: 'kubernetes' },
  spec: { clusterIP: '10.0.0.1', ports: [{ name: 'https', port: 443, protocol: 'TCP' }] },
};
const service = (namespace: string, name: string, spec: ServiceData['spec'] = {}): ServiceData => ({
  metadata: { namespace, name },
  spec: { clusterIP: '10.0.0.9', ports: [{ port: 80 }], ...spec },
});

function variables(services: readonly ServiceData[], namespace: string, links: boolean): Record<string, string> {
  return Object.fromEntries(serviceVariables(services, namespace, links).map(({ name, value }) => [name, value]));
}

describe('serviceVariables', () => {
  it('pods of all namespaces get the variables of the kubernetes service, whatever enableServiceLinks says', () => {
    const expected = {
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
      KUBERNETES_SERVICE_PORT: '443',
      KUBERNETES_SERVICE_PORT_HTTPS: '443',
      KUBERNETES_PORT: 'tcp://10.0.0.1:443',
      KUBERNETES_PORT_443_TCP: 'tcp://10.0.0.1:443',
      KUBERNETES_PORT_443_TCP_PROTO: 'tcp',
      KUBERNETES_PORT_443_TCP_PORT: '443',
      KUBERNETES_PORT_443_TCP_ADDR: '10.0.0.1',
    };
    const services = [service('shop', 'web'), kubernetes, service('default', 'other')];
    expect(variables(services, 'shop', false)).toEqual(expected);
    expect(variables(services, 'default', false)).toEqual(expected);
    expect(variables(services, 'elsewhere', true)).toEqual(expected);
  });

  it('a pod with enableServiceLinks gets the variables of all services in its namespace, with all ports', () => {
    const ports = [
      { name: 'dns-udp', port: 53, protocol: 'UDP' },
      { name: 'metrics', port: 9153 },
    ];
    const dns = service('shop', 'kube-dns', { clusterIP: 'fd00::a', ports });
    expect(serviceVariables([dns, service('elsewhere', 'web')], 'shop', true)).toEqual([
      { name: 'KUBE_DNS_SERVICE_HOST', value: 'fd00::a' },
      { name: 'KUBE_DNS_SERVICE_PORT', value: '53' },
      { name: 'KUBE_DNS_SERVICE_PORT_DNS_UDP', value: '53' },
      { name: 'KUBE_DNS_SERVICE_PORT_METRICS', value: '9153' },
      { name: 'KUBE_DNS_PORT', value: 'udp://[fd00::a]:53' },
      { name: 'KUBE_DNS_PORT_53_UDP', value: 'udp://[fd00::a]:53' },
      { name: 'KUBE_DNS_PORT_53_UDP_PROTO', value: 'udp' },
      { name: 'KUBE_DNS_PORT_53_UDP_PORT', value: '53' },
      { name: 'KUBE_DNS_PORT_53_UDP_ADDR', value: 'fd00::a' },
      { name: 'KUBE_DNS_PORT_9153_TCP', value: 'tcp://[fd00::a]:9153' },
      { name: 'KUBE_DNS_PORT_9153_TCP_PROTO', value: 'tcp' },
      { name: 'KUBE_DNS_PORT_9153_TCP_PORT', value: '9153' },
      { name: 'KUBE_DNS_PORT_9153_TCP_ADDR', value: 'fd00::a' },
    ]);
  });

  it('a service without a cluster IP gets no variables', () => {
    const headless = [{ clusterIP: 'None' }, { clusterIP: '' }].map((spec) => service('shop', 'db', spec));
    expect(serviceVariables([...headless, { metadata: { namespace: 'shop', name: 'x' } }], 'shop', true)).toEqual([]);
    expect(variables([service('shop', 'db', { ports: [] })], 'shop', true)).toEqual({ DB_SERVICE_HOST: '10.0.0.9' });
  });

  it.each([
    ['last', [kubernetes, service('shop', 'kubernetes')]],
    ['first', [service('shop', 'kubernetes'), kubernetes]],
  ])(
    "a service named kubernetes in the pod's namespace takes precedence over the one in the namespace default: listed %s",
    (_place, services) => {
      const { KUBERNETES_SERVICE_HOST } = variables(services, 'shop', true);
      expect(KUBERNETES_SERVICE_HOST).toBe('10.0.0.9');
    },
  );
});
