import { describe, expect, test } from 'vitest';
import { processArguments } from '../src/arguments.ts';
import { distinguishedName } from '../src/authority.ts';
import { bootstrapObjects } from '../src/bootstrap-objects.ts';
import { goMod } from '../src/build.ts';
import { kubeProxyConfiguration } from '../src/kube-proxy.ts';
import { kubeconfig } from '../src/kubeconfig.ts';
import { addressesOf, firstAddress } from '../src/layout.ts';
import { moduleGoMod } from '../src/module-program.ts';
import { isOpenServingRequest } from '../src/serving-certificates.ts';

test('moduleGoMod copies the replace directives that name a version, and omits those that name a directory', () => {
  const upstream = `module example.com/tool

go 1.24.9

require k8s.io/api v0.34.0

replace k8s.io/api => k8s.io/api v0.34.1

replace (
\tk8s.io/client-go v0.34.0 => example.com/client-go v0.34.2
\texample.com/other => ./other
)
`;
  expect(moduleGoMod('example.com/tool', 'v1.2.3', upstream).split('\n')).toEqual([
    'module node-agent.local/build',
    'go 1.24.9',
    'require example.com/tool v1.2.3',
    'replace k8s.io/api => k8s.io/api v0.34.1',
    'replace k8s.io/client-go v0.34.0 => example.com/client-go v0.34.2',
    '',
  ]);
});

describe('addressesOf', () => {
  test('addressesOf depends only on the directory', () => {
    expect(addressesOf('/a')).toEqual(addressesOf('/a'));
    expect(addressesOf('/a')).not.toEqual(addressesOf('/b'));
  });

  test("addressesOf returns a loopback address and a service subnet whose first address is the API server's", () => {
    for (let number = 0; number < 500; number++) {
      const { address, serviceSubnet } = addressesOf(`/run/${number}`);
      const bytes = address.split('.').map(Number);
      expect(bytes[0]).toBe(127);
      // 127.0.0.1 must stay available to other programs.
      expect(bytes[1]).toBeGreaterThan(0);
      expect(bytes.every((byte) => byte >= 0 && byte < 256)).toBe(true);
      expect(serviceSubnet).toMatch(/^10\.2[0-4]\d\.\d{1,3}\.0\/24$/);
      expect(firstAddress(serviceSubnet)).toBe(serviceSubnet.replace('.0/24', '.1'));
    }
  });
});

test('goMod replaces staging directories by published versions', () => {
  const upstream = `module k8s.io/kubernetes

go 1.26.0

godebug default=go1.26

require (
	k8s.io/api v0.0.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/client-go => ./staging/src/k8s.io/client-go
	example.com/fork => example.com/other v1.0.0
)
`;
  expect(goMod(upstream).split('\n')).toEqual([
    'module node-agent.local/build',
    'go 1.26.0',
    'godebug default=go1.26',
    'require k8s.io/kubernetes v1.36.3',
    'require go.etcd.io/etcd/server/v3 v3.6.8',
    'replace k8s.io/api => k8s.io/api v0.36.3',
    'replace k8s.io/client-go => k8s.io/client-go v0.36.3',
    '',
  ]);
});

test.each([
  [{ commonName: 'system:node:a', organization: 'system:nodes' }, '/O=system:nodes/CN=system:node:a'],
  [{ commonName: 'admin' }, '/CN=admin'],
  [{ commonName: 'a/CN=admin', organization: 'x+y' }, '/O=x\\+y/CN=a\\/CN=admin'],
])('distinguishedName formats %o as %s with escaped special characters', (subject, expected) => {
  expect(distinguishedName(subject)).toBe(expected);
});

test('kubeconfig is self-contained', () => {
  const text = kubeconfig({ server: 'https://127.0.0.1:1', ca: 'CA', user: { cert: 'CERT', key: 'KEY' } });
  const { clusters, users, contexts, ...rest } = JSON.parse(text);
  expect(clusters[0].cluster).toEqual({ server: 'https://127.0.0.1:1', 'certificate-authority-data': 'Q0E=' });
  expect(users[0].user).toEqual({ 'client-certificate-data': 'Q0VSVA==', 'client-key-data': 'S0VZ' });
  expect(contexts[0]).toEqual({ name: rest['current-context'], context: { cluster: 'node-agent', user: 'user' } });
  expect(JSON.parse(kubeconfig({ server: 'x', ca: 'CA', user: { token: 't' } })).users[0].user).toEqual({ token: 't' });
});

test('bootstrapObjects contains the token as a Secret named by its ID', () => {
  const [token] = bootstrapObjects('07401b.f395accd246ae52d');
  expect(token?.object).toMatchObject({
    metadata: { name: 'bootstrap-token-07401b' },
    stringData: { 'token-id': '07401b', 'token-secret': 'f395accd246ae52d' },
  });
});

test.each([
  ["is true for a node's pending request", {}, {}, true],
  ['is false for a decided request', {}, { conditions: [{ type: 'Denied' }] }, false],
  [
    'is false for a request to another signer',
    { signerName: 'kubernetes.io/kube-apiserver-client-kubelet' },
    {},
    false,
  ],
  ['is false for a request of a user that is not a node', { username: 'system:serviceaccount:a:b' }, {}, false],
])('isOpenServingRequest %s', (_title, spec, status, expected) => {
  const node = { signerName: 'kubernetes.io/kubelet-serving', username: 'system:node:n' };
  expect(isOpenServingRequest({ metadata: { name: 'r' }, spec: { ...node, ...spec }, status })).toBe(expected);
});

describe('processArguments', () => {
  const pair = (name: string) => ({ cert: `/d/${name}.crt`, key: `/d/${name}.key` });
  const certificates = {
    ca: pair('ca'),
    apiServer: pair('apiserver'),
    kubeletClient: pair('kubelet-client'),
    controllerManager: pair('kcm'),
    scheduler: pair('scheduler'),
    etcdCa: pair('etcd-ca'),
    etcd: pair('etcd'),
    etcdClient: pair('etcd-client'),
  };
  const layout = {
    address: '127.9.9.1',
    apiAddress: '127.9.9.1',
    apiPort: 1,
    etcdPort: 2,
    etcdPeerPort: 3,
    controllerManagerPort: 4,
    schedulerPort: 5,
    serviceSubnet: '10.200.0.0/24',
  };

  test('every listener of the processes uses the loopback address and TLS', () => {
    const all = Object.values(processArguments('/d', layout, certificates)).flat();
    const listeners = all.filter((argument) => /^--(bind-address|listen-[a-z]+-urls)=/.test(argument));
    expect(listeners).toHaveLength(5);
    for (const listener of listeners) expect(listener).toMatch(/=(https:\/\/)?127\.9\.9\.1(:\d+)?$/);
    expect(all.some((argument) => argument.includes('http://'))).toBe(false);
  });

  test('the API server publishes an endpoint only for an address that pods can reach', () => {
    const apiServer = (apiAddress: string) =>
      processArguments('/d', { ...layout, apiAddress }, certificates)['kube-apiserver'];
    expect(apiServer('127.9.9.1')).toContain('--endpoint-reconciler-type=none');
    expect(apiServer('10.200.0.1')).toContain('--advertise-address=10.200.0.1');
    expect(apiServer('10.200.0.1')).not.toContain('--endpoint-reconciler-type=none');
  });
});

test('kube-proxy gets its node and the pod subnet, and leaves the connection tracking table unchanged', () => {
  // A network namespace cannot change the size of the connection tracking table; 0 leaves each value unchanged.
  expect(kubeProxyConfiguration({ kubeconfig: '/k', nodeName: 'n', subnet: '10.1.0.0/16' })).toMatchObject({
    ...{ mode: 'iptables', clusterCIDR: '10.1.0.0/16', hostnameOverride: 'n', healthzBindAddress: '127.0.0.1:10256' },
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  });
});
