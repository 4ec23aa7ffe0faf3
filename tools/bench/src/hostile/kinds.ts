import type { PodSpec } from '@node-agent/pod-spec';

/** Pods that mean ill, all of one kind. */
export interface HostileKind {
  readonly name: string;
  /** How many at a time. */
  readonly pods: number;
  /** What its container does; it is Ready once `/e/ready` is there. */
  readonly script: string;
  readonly container?: Partial<PodSpec['containers'][number]>;
}

const FOREVER = 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done';

/** The harm is done in the first life; what the kubelet makes of it is seen in the second. */
const inFirstLife = (harm: string): string =>
  `if [ -e /e/second ]; then : > /e/ready; ${FOREVER}; fi; touch /e/second; ${harm}; exit 1`;

/** What containers can do to a kubelet by their files alone (W5). */
export const HOSTILE_KINDS: readonly HostileKind[] = [
  {
    name: '200,000 files in an emptyDir',
    pods: 1,
    script: `cd /e; mkdir d; cd d; seq 200000 | xargs -n 2000 touch; : > /e/ready; ${FOREVER}`,
  },
  {
    name: 'names that are no text',
    pods: 4,
    script: `cd /e; n=$(printf 'caf\\351\\377'); mkdir "$n" "$n/$n"; : > "$n/$n/$n"; mkfifo "f$n"; : > ready; ${FOREVER}`,
  },
  {
    name: '1,500 directories in one another',
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
    name: 'a log of 20 MB in one line, as a message',
    pods: 2,
    script: inFirstLife("head -c 20000000 /dev/zero | tr '\\0' y"),
    container: { terminationMessagePolicy: 'FallbackToLogsOnError' },
  },
];

/** The spec of a pod of a kind, but for its node. */
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
