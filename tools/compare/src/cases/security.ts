import { type Case, one, runs, shell } from './case.ts';

/** Security contexts, namespaces and runtime classes. */
export const security: readonly Case[] = [
  one('not-root', { securityContext: { runAsNonRoot: true } }),
  one('not-root-1000', { securityContext: { runAsNonRoot: true, runAsUser: 1000 } }),
  one('privileged', { securityContext: { privileged: true } }),
  one(
    'locked-down',
    {
      workingDir: '/tmp',
      securityContext: {
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
      },
    },
    {
      securityContext: {
        runAsUser: 1000,
        runAsGroup: 2000,
        fsGroup: 3000,
        supplementalGroups: [5, 6],
        seccompProfile: { type: 'RuntimeDefault' },
      },
    },
  ),
  one('groups-strict', {}, { securityContext: { supplementalGroups: [5], supplementalGroupsPolicy: 'Strict' } }),
  one('seccomp-absent', {
    securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'absent.json' } },
  }),
  one('app-armor-off', { securityContext: { appArmorProfile: { type: 'Unconfined' } } }),
  one('app-armor', { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } }),
  one('selinux', { securityContext: { seLinuxOptions: { level: 's0:c1,c2' } } }),
  one('sysctl-safe', {}, { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] } }),
  one('sysctl-unsafe', {}, { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '65536' }] } }),
  one('host-namespaces', {}, { hostPID: true, hostIPC: true }),
  { name: 'shared-processes', spec: { shareProcessNamespace: true, containers: [runs(), runs({ name: 'b' })] } },
  one('own-users', {}, { hostUsers: false }),
  one(
    'own-users-and-volume',
    { volumeMounts: [{ name: 'v', mountPath: '/v' }] },
    { hostUsers: false, volumes: [{ name: 'v', emptyDir: {} }] },
  ),
  one('host-users', {}, { hostUsers: true }),
  one('proc-mount', { securityContext: { procMount: 'Default' } }),
  one('capabilities-all', { securityContext: { capabilities: { add: ['ALL'] } } }),
  one('user-of-container', { securityContext: { runAsUser: 7, runAsGroup: 8 } }, { securityContext: { runAsUser: 1 } }),
  one('not-root-user-0', { securityContext: { runAsNonRoot: true, runAsUser: 0 } }),
  one('seccomp-unconfined', { securityContext: { seccompProfile: { type: 'Unconfined' } } }),
  one(
    'seccomp-of-container',
    { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } },
    { securityContext: { seccompProfile: { type: 'Unconfined' } } },
  ),
  one(
    'app-armor-absent',
    {},
    { securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: 'absent' } } },
  ),
  one('capabilities-of-nobody', { securityContext: { runAsUser: 1000, capabilities: { drop: ['ALL'] } } }),
  one('groups-merged', {}, { securityContext: { supplementalGroups: [5, 6], supplementalGroupsPolicy: 'Merge' } }),
  one(
    'sysctls-two',
    {},
    {
      securityContext: {
        sysctls: [
          { name: 'net.ipv4.ip_local_port_range', value: '1024 65000' },
          { name: 'kernel.shm_rmid_forced', value: '1' },
        ],
      },
    },
  ),
  {
    name: 'not-root-init',
    spec: {
      initContainers: [shell('true', { name: 'i1', securityContext: { runAsNonRoot: true } })],
      containers: [runs()],
    },
  },
  one('host-ipc', {}, { hostIPC: true }),
  one('host-processes', {}, { hostPID: true }),
  one('runtime-class', {}, { runtimeClassName: 'compared' }),
  one('runtime-class-unknown', {}, { runtimeClassName: 'unknown-handler' }),
];
