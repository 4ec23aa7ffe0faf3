import type { PodSpec } from '@node-agent/pod-spec';

/** Something that a pod uses up. */
export interface PressureKind {
  readonly name: string;
  /** What runs out: memory of all pods, or the disk that images, logs and volumes share. */
  readonly runsOut: 'memory' | 'disk';
  /** What the pod that means ill does again and again, `$i` counting; absent: the images of the node do it. */
  readonly harm?: string;
}

/** All of them. None takes more than 1.5 GB of anything. */
export const PRESSURE_KINDS: readonly PressureKind[] = [
  {
    name: 'a leak of 500 MB/s',
    runsOut: 'memory',
    // In two volumes: one is no larger than what eviction leaves of all.
    harm: 'if [ $i -lt 48 ]; then dd if=/dev/zero of=/e$((i%2))/$i bs=1M count=25 2>/dev/null; sleep 0.05; else sleep 0.2; fi',
  },
  {
    name: 'a log that grows',
    runsOut: 'disk',
    harm: 'dd if=/dev/zero bs=1M count=8 2>/dev/null | tr "\\0" y | fold -w 8000',
  },
  { name: 'a writable layer', runsOut: 'disk', harm: 'dd if=/dev/zero of=/f$i bs=1M count=8 2>/dev/null; sleep 0.05' },
  { name: 'an emptyDir', runsOut: 'disk', harm: 'dd if=/dev/zero of=/d/f$i bs=1M count=8 2>/dev/null; sleep 0.05' },
  { name: 'images that nobody uses', runsOut: 'disk' },
];

/** Who is on the node beside the pod that means ill. */
export const BYSTANDERS = ['best-effort', 'burstable', 'guaranteed'] as const;

const small = { cpu: '20m', memory: '32Mi' };
const RESOURCES: Readonly<Record<string, object>> = {
  'best-effort': {},
  burstable: { requests: small },
  guaranteed: { requests: small, limits: small },
};

/**
 * The spec of a pod: it begins with its harm when the file `go-NAME` is there, and leaves `term-NAME` when it is told to end. One that does no harm
 * writes to its disk all the while, and leaves `failed-NAME` where that cannot be done.
 * @param notes a directory of the host for these files
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
