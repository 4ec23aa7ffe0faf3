/** A suite of upstream's, by the name of its program. */
export type SuiteName = 'e2e' | 'e2e_node';

/** Specs that are run together, under a name. */
export interface NamedSelection {
  /** What these specs are about, for a heading. */
  readonly title: string;
  readonly suite: SuiteName;
  /** Of ginkgo: an expression over labels. */
  readonly labels: string;
  readonly focus: readonly string[];
  readonly skip: readonly string[];
  /** Whether its specs fill the disk: each run is given one of its own. */
  readonly fillsDisk?: boolean;
}

export type SelectionName =
  | 'slice'
  | 'node-conformance'
  | 'network'
  | 'storage'
  | 'node'
  | 'pod-level-resize'
  | 'e2e-node'
  | 'e2e-node-serial'
  | 'e2e-node-eviction';

/** A spec of 27 minutes: it waits for a back-off to reach its longest, and to be kept. */
export const LONG_SPEC = 'should cap back-off at MaxContainerBackOff';

/** Specs that a release's own jobs run on any cluster: of no feature that a cluster may lack, and safe beside others. */
const EVERYWHERE = 'Feature: isEmpty && !Disruptive && !Flaky && !Slow';

/** Of every area of NodeConformance a few, each of them short, and none that a slow machine decides. */
const SLICE: readonly string[] = [
  'Pods should be submitted and removed',
  'Pods should be updated',
  'allow activeDeadlineSeconds to be updated',
  'remote command execution over websockets',
  'retrieving logs from the container over websockets',
  'should print the output to logs',
  'should not start app containers and fail the pod if init containers fail',
  'should invoke init containers on a RestartNever pod',
  '\\] Container Lifecycle Hook .* (poststart exec|prestop http) hook',
  'termination message if TerminationMessagePath is set',
  'Ephemeral Containers \\[NodeConformance\\] will start',
  '\\] Probing container should be restarted with a /healthz http liveness probe',
  'Secrets should be consumable from pods in volume as non-root with defaultMode',
  'ConfigMap updates should be reflected in volume',
  'Projected combined',
  'Downward API volume should update labels',
  'EmptyDir volumes should support \\(non-root,0666,tmpfs\\)',
  'HostPath should support subPath',
  'Subpath .* support subpaths with configmap pod ',
  'substituting values in a container.s command',
  'provide default limits.cpu/memory from node allocatable',
  'should run the container with uid 65534',
  'should not run with an explicit root user ID',
  'readonly rootfs when readOnlyRootFilesystem=true',
  'should support sysctls \\[Env',
  'should schedule a Pod requesting a RuntimeClass and initialize its Overhead',
  'kubelet managed /etc/hosts',
  'NodeLease should have OwnerReferences',
  'should be able to pull image \\[',
  'intra-pod communication: http',
];

export const SELECTIONS: Readonly<Record<SelectionName, NamedSelection>> = {
  slice: {
    title: 'Some of NodeConformance, in two minutes',
    suite: 'e2e',
    labels: 'NodeConformance && !Slow',
    focus: SLICE,
    skip: [],
  },
  'node-conformance': {
    title: 'NodeConformance of e2e.test',
    suite: 'e2e',
    labels: 'NodeConformance',
    focus: [],
    skip: [],
  },
  network: {
    title: 'Conformance of sig-network',
    suite: 'e2e',
    labels: 'sig-network && Conformance',
    focus: [],
    skip: [],
  },
  storage: {
    title: 'Conformance of sig-storage, beside NodeConformance',
    suite: 'e2e',
    labels: 'sig-storage && Conformance && !NodeConformance',
    focus: [],
    skip: [],
  },
  node: {
    title: 'sig-node of e2e.test, beside NodeConformance, DRA and resizes of whole pods',
    suite: 'e2e',
    labels: `sig-node && !NodeConformance && ${EVERYWHERE}`,
    focus: [],
    // Of DRA, what is the API's alone stays.
    skip: ['PLR Pod InPlace Resize', '\\[DRA\\] (control plane|ResourceSlice Controller)'],
  },
  'pod-level-resize': {
    title: 'Resizes of whole pods, of sig-node in e2e.test',
    suite: 'e2e',
    labels: `sig-node && !NodeConformance && ${EVERYWHERE}`,
    focus: ['PLR Pod InPlace Resize'],
    skip: [],
  },
  'e2e-node': {
    title: 'NodeConformance of e2e_node.test',
    suite: 'e2e_node',
    labels: 'NodeConformance && !Serial',
    focus: [],
    skip: [],
  },
  'e2e-node-serial': {
    title: 'Serial specs of e2e_node.test: restarts, garbage, logs, grace, probes',
    suite: 'e2e_node',
    labels: 'Serial',
    focus: [
      '\\] Restart',
      'RestartAll',
      'GarbageCollect',
      'LogRotation',
      'Not Change',
      'Probe Stress',
      'MirrorPodWithGrace',
    ],
    skip: [],
  },
  'e2e-node-eviction': {
    title: 'Serial specs of e2e_node.test: eviction, and images that go for it',
    suite: 'e2e_node',
    labels: 'Serial',
    focus: ['Eviction'],
    skip: [],
    fillsDisk: true,
  },
};
