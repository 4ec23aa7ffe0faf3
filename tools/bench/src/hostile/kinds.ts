import type { PodSpec } from '@node-agent/pod-spec';

/** Kind of attack on a kubelet, and the pods that perform it. */
export interface HostileKind {
  readonly name: string;
  /** Number of pods at a time. */
  readonly pods: number;
  /** Script of the container. The pod is Ready when `/e/ready` exists. */
  readonly script: string;
  readonly container?: Partial<PodSpec['containers'][number]>;
}

const FOREVER = 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done';

/**
 * Returns a script that does its harm in the container's first run. The pod becomes Ready in the second run, which
 * starts when the kubelet has handled the end of the first.
 */
const inFirstLife = (harm: string): string =>
  `if [ -e /e/second ]; then : > /e/ready; ${FOREVER}; fi; touch /e/second; ${harm}; exit 1`;

/** Attacks on a kubelet through a container's files alone (W5). */
export const HOSTILE_KINDS: readonly HostileKind[] = [
  {
    name: '200,000 files in an emptyDir',
    pods: 1,
    script: `cd /e; mkdir d; cd d; seq 200000 | xargs -n 2000 touch; : > /e/ready; ${FOREVER}`,
  },
  {
    name: 'file names that are not UTF-8',
    pods: 4,
    script: `cd /e; n=$(printf 'caf\\351\\377'); mkdir "$n" "$n/$n"; : > "$n/$n/$n"; mkfifo "f$n"; : > ready; ${FOREVER}`,
  },
  {
    name: '1,500 nested directories',
    pods: 4,
    script: `cd /e; : > ready; i=0; while [ $i -lt 1500 ]; do mkdir d && cd d; i=$((i+1)); done; ${FOREVER}`,
  },
  { name: '/etc/hosts of 1,500 MB', pods: 1, script: inFirstLife('truncate -s 1500M /etc/hosts') },
  {
    name: 'a termination message of 1,500 MB',
    pods: 2,
    script: inFirstLife('truncate -s 1500M /dev/termination-log'),
  },
  {
    name: 'a log of 20 MB in one line, used as termination message',
    pods: 2,
    script: inFirstLife("head -c 20000000 /dev/zero | tr '\\0' y"),
    container: { terminationMessagePolicy: 'FallbackToLogsOnError' },
  },
];

/** Returns the spec of a pod of a kind, without its node. */
export function hostileSpec({ script, container }: HostileKind, image: string): PodSpec {
  const probe = { exec: { command: ['test', '-e', '/e/ready'] }, periodSeconds: 1 };
  return {
    terminationGracePeriodSeconds: 1,
    dnsPolicy: 'Default',
    volumes: [{ name: 'e', emptyDir: {} }],
    containers: [
      {
        name: 'main',
        image,
        imagePullPolicy: 'IfNotPresent',
        command: ['sh', '-c', script],
        volumeMounts: [{ name: 'e', mountPath: '/e' }],
        readinessProbe: probe,
        ...container,
      },
    ],
  };
}
