import {
  messages,
  NamespaceMode,
  type PodSandboxConfig,
  Protocol,
  SecurityProfileProfileType,
  SupplementalGroupsPolicy,
} from '@node-agent/cri-client';
import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import type { SandboxContext } from '../../src/config/context.ts';
import { generateSandboxConfig } from '../../src/config/sandbox-config.ts';
import { makeContainer, makePod, sandboxContext } from './fixtures.ts';

function sandboxOf(pod: Pod, context: Partial<SandboxContext> = {}): PodSandboxConfig {
  return messages.PodSandboxConfig.create(generateSandboxConfig(pod, 2, { ...sandboxContext, ...context }));
}

describe('generateSandboxConfig', () => {
  it("the sandbox config has the pod's identity, log directory, DNS config and parent cgroup", () => {
    expect(sandboxOf(makePod({}, { labels: { a: 'b' }, annotations: { c: 'd' } }))).toMatchObject({
      metadata: { name: 'web', namespace: 'default', uid: 'uid-1', attempt: 2 },
      hostname: 'web',
      logDirectory: '/var/log/pods/default_web_uid-1',
      dnsConfig: { servers: ['10.0.0.10'], searches: ['svc.local'], options: ['ndots:5'] },
      labels: { a: 'b', 'io.kubernetes.pod.name': 'web' },
      annotations: { c: 'd' },
      portMappings: [],
      linux: { cgroupParent: '/kubepods/poduid-1', sysctls: {} },
    });
  });

  it('a pod on the host network gets no hostname in its sandbox config', () => {
    expect(sandboxOf(makePod({ hostNetwork: true })).hostname).toBe('');
  });

  it('the hostname of a sandbox is the FQDN if setHostnameAsFQDN is set and it fits into 64 characters', () => {
    const pod = makePod({ setHostnameAsFQDN: true });
    expect(sandboxOf(pod, { domain: 'sub.default.svc.local' }).hostname).toBe('web.sub.default.svc.local');
    expect(sandboxOf(makePod(), { domain: 'sub.default.svc.local' }).hostname).toBe('web');
    expect(sandboxOf(pod, { domain: 'd'.repeat(60) }).hostname).toHaveLength(64);
    expect(() => sandboxOf(pod, { domain: 'd'.repeat(61) })).toThrow(
      /^failed to construct FQDN .* is too long \(64 characters is the max, 65 characters requested\)$/,
    );
  });

  it.each([
    [{}, NamespaceMode.POD, NamespaceMode.CONTAINER, NamespaceMode.POD],
    [{ hostNetwork: true }, NamespaceMode.NODE, NamespaceMode.CONTAINER, NamespaceMode.POD],
    [{ hostPID: true, shareProcessNamespace: true }, NamespaceMode.POD, NamespaceMode.NODE, NamespaceMode.POD],
    [{ shareProcessNamespace: true }, NamespaceMode.POD, NamespaceMode.POD, NamespaceMode.POD],
    [{ hostIPC: true }, NamespaceMode.POD, NamespaceMode.CONTAINER, NamespaceMode.NODE],
  ])(
    'the sandbox of a pod with %j has the namespace modes %s (network), %s (PID) and %s (IPC)',
    (spec, network, pid, ipc) => {
      const options = sandboxOf(makePod(spec)).linux?.securityContext?.namespaceOptions;
      expect(options).toMatchObject({ network, pid, ipc, usernsOptions: { mode: NamespaceMode.NODE } });
    },
  );

  it('refuses a pod with a user namespace if it has no ID mapping', () => {
    const pod = makePod({ hostUsers: false });
    expect(() => sandboxOf(pod)).toThrow("can't set `spec.hostUsers: false`");
    const ids = [{ hostId: 65536, containerId: 0, length: 65536 }];
    const userNamespace = { mode: NamespaceMode.POD, uids: ids, gids: ids };
    expect(sandboxOf(pod, { userNamespace }).linux?.securityContext?.namespaceOptions?.usernsOptions).toEqual(
      userNamespace,
    );
  });

  it("the sandbox config has the pod's security context, and always the runtime's default seccomp profile", () => {
    const pod = makePod({
      securityContext: {
        runAsUser: 1000,
        runAsGroup: 2000,
        fsGroup: 1,
        supplementalGroups: [3],
        supplementalGroupsPolicy: 'Strict',
        seLinuxOptions: { level: 's0:c1' },
        sysctls: [{ name: 'net/ipv4/tcp_syncookies', value: '0' }],
        seccompProfile: { type: 'Unconfined' },
      },
    });
    const linux = sandboxOf(pod, { extraSupplementalGroups: [2] }).linux;
    expect(linux?.sysctls).toEqual({ 'net.ipv4.tcp_syncookies': '0' });
    expect(linux?.securityContext).toMatchObject({
      runAsUser: { value: 1000 },
      runAsGroup: { value: 2000 },
      supplementalGroups: [1, 2, 3],
      supplementalGroupsPolicy: SupplementalGroupsPolicy.Strict,
      selinuxOptions: { user: '', role: '', type: '', level: 's0:c1' },
      seccomp: { profileType: SecurityProfileProfileType.RuntimeDefault },
      privileged: false,
    });
  });

  it.each(['containers', 'initContainers', 'ephemeralContainers'] as const)(
    "the sandbox is privileged if one of the pod's %s is privileged",
    (list) => {
      const privileged = makeContainer({ name: 'p', securityContext: { privileged: true } });
      expect(sandboxOf(makePod({ [list]: [privileged] })).linux?.securityContext?.privileged).toBe(true);
    },
  );

  it('refuses an unknown supplementalGroupsPolicy', () => {
    expect(() => sandboxOf(makePod({ securityContext: { supplementalGroupsPolicy: 'Both' } }))).toThrow(
      'unsupported supplementalGroupsPolicy: Both',
    );
  });

  it('a sandbox has one port mapping for each port name, and one for each host IP of an unnamed port', () => {
    const ports = [
      { name: 'http', containerPort: 80, hostPort: 8080, protocol: 'TCP' },
      { name: 'http', containerPort: 81 },
      { containerPort: 53, protocol: 'UDP', hostIP: '::1', hostPort: 53 },
      { containerPort: 53, protocol: 'UDP', hostIP: '127.0.0.1', hostPort: 53 },
      { containerPort: 53, protocol: 'UDP', hostIP: '127.0.0.1', hostPort: 53 },
      { containerPort: 9, protocol: 'SCTP' },
      { containerPort: 10, protocol: 'QUIC' },
    ];
    expect(sandboxOf(makePod({ containers: [makeContainer({ ports })] })).portMappings).toEqual([
      { protocol: Protocol.TCP, containerPort: 80, hostPort: 8080, hostIp: '' },
      { protocol: Protocol.UDP, containerPort: 53, hostPort: 53, hostIp: '::1' },
      { protocol: Protocol.UDP, containerPort: 53, hostPort: 53, hostIp: '127.0.0.1' },
      { protocol: Protocol.SCTP, containerPort: 9, hostPort: 0, hostIp: '' },
      { protocol: Protocol.TCP, containerPort: 10, hostPort: 0, hostIp: '' },
    ]);
  });

  it('the sandbox config has the sum of the container resources and the overhead separately', () => {
    const pod = makePod({
      containers: [
        makeContainer({ resources: { requests: { cpu: '500m' }, limits: { cpu: '1', memory: '64Mi' } } }),
        makeContainer({ name: 'b', resources: { requests: { cpu: '250m' }, limits: { cpu: '500m', memory: '64Mi' } } }),
      ],
      overhead: { cpu: '100m', memory: '10Mi' },
    });
    expect(sandboxOf(pod).linux).toMatchObject({
      resources: { cpuShares: 768, cpuQuota: 150_000, cpuPeriod: 100_000, memoryLimitInBytes: 128 * 2 ** 20 },
      overhead: { cpuShares: 102, cpuQuota: 10_000, cpuPeriod: 100_000, memoryLimitInBytes: 10 * 2 ** 20 },
    });
    expect(sandboxOf(pod, { hasExclusiveCpus: true }).linux?.resources?.cpuQuota).toBe(-1);
  });

  it('the sandbox config has the pod-level resources instead of the sum over the containers', () => {
    const containers = [makeContainer({ resources: { requests: { cpu: '250m' } } })];
    const resources = { requests: { cpu: '2' }, limits: { cpu: '4', memory: '1Gi' } };
    expect(sandboxOf(makePod({ containers, resources })).linux?.resources).toMatchObject({
      cpuShares: 2048,
      cpuQuota: 400_000,
      memoryLimitInBytes: 2 ** 30,
    });
  });
});
