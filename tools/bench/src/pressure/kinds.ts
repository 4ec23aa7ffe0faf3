import type { PodSpec } from '@node-agent/pod-spec';

/** Kind of resource pressure. */
export interface PressureKind {
  readonly name: string;
  /** Resource that becomes scarce: memory of all pods, or the disk with images, logs and volumes. */
  readonly runsOut: 'memory' | 'disk';
  /**
   * Command that the hostile pod repeats, with the counter `$i`. Without a command, images on the node cause the
   * pressure.
   */
  readonly harm?: string;
}

/** All kinds. None uses more than 1.5 GB of a resource. */
export const PRESSURE_KINDS: readonly PressureKind[] = [
  {
    name: 'a leak of 500 MB/s',
    runsOut: 'memory',
    // The leak uses two volumes, because one volume cannot exceed the memory that eviction leaves available.
    harm: 'if [ $i -lt 48 ]; then dd if=/dev/zero of=/e$((i%2))/$i bs=1M count=25 2>/dev/null; sleep 0.05; else sleep 0.2; fi',
  },
  {
    name: 'a growing log',
    runsOut: 'disk',
    harm: 'dd if=/dev/zero bs=1M count=8 2>/dev/null | tr "\\0" y | fold -w 8000',
  },
  { name: 'a writable layer', runsOut: 'disk', harm: 'dd if=/dev/zero of=/f$i bs=1M count=8 2>/dev/null; sleep 0.05' },
  { name: 'an emptyDir', runsOut: 'disk', harm: 'dd if=/dev/zero of=/d/f$i bs=1M count=8 2>/dev/null; sleep 0.05' },
  { name: 'unused images', runsOut: 'disk' },
];

/** Pods on the node in addition to the hostile pod. */
export const BYSTANDERS = ['best-effort', 'burstable', 'guaranteed'] as const;

const small = { cpu: '20m', memory: '32Mi' };
const RESOURCES: Readonly<Record<string, object>> = {
  'best-effort': {},
  burstable: { requests: small },
  guaranteed: { requests: small, limits: small },
};

/**
 * Returns the spec of a pod. The hostile pod starts its harm when the file `go-NAME` exists, and creates `term-NAME` on
 * SIGTERM. The other pods write to their disk all the time, and create `failed-NAME` if a write fails.
 * @param notes host directory for these files
 */
export function pressureSpec(name: string, notes: string, image: string, kind: string, harm?: string): PodSpec {
  const quiet = `echo x > /d/w || : > /n/failed-${name}; sleep 0.2`;
  const script = [
    `trap ': > /n/term-${name}; exit 0' TERM`,
    harm === undefined ? ':' : `until [ -e /n/go-${name} ]; do sleep 0.05; done`,
    `i=0; while :; do ${harm ?? quiet}; i=$((i+1)); done`,
  ].join('; ');
  const mounts = [
    { name: 'n', mountPath: '/n' },
    { name: 'd', mountPath: '/d' },
    { name: 'e0', mountPath: '/e0' },
    { name: 'e1', mountPath: '/e1' },
  ];
  return {
    terminationGracePeriodSeconds: 2,
    dnsPolicy: 'Default',
    restartPolicy: 'Never',
    volumes: [
      { name: 'n', hostPath: { path: notes } },
      { name: 'd', emptyDir: {} },
      { name: 'e0', emptyDir: { medium: 'Memory' } },
      { name: 'e1', emptyDir: { medium: 'Memory' } },
    ],
    containers: [
      {
        name: 'main',
        image,
        imagePullPolicy: 'IfNotPresent',
        command: ['sh', '-c', script],
        volumeMounts: mounts,
        resources: RESOURCES[kind] ?? {},
      },
    ],
  };
}
