/** Suite of upstream, by the name of its program. */
export type SuiteName = 'e2e' | 'e2e_node';

/** Named set of specs. */
export interface NamedSelection {
  /** Title of the specs, used as a heading. */
  readonly title: string;
  readonly suite: SuiteName;
  /** Label expression of ginkgo. */
  readonly labels: string;
  readonly focus: readonly string[];
  readonly skip: readonly string[];
  /** Whether the specs fill the disk. If so, each run has its own file system. */
  readonly fillsDisk?: boolean;
  /** Whether the specs deploy CSI drivers. If so, images of drivers and sidecars are built. */
  readonly deploysDrivers?: boolean;
  /** Whether the specs deploy the proxy through which a kubelet reaches a driver in the suite's own process. */
  readonly deploysProxy?: boolean;
  /** Features of the cluster that are off by default and that specs of e2e.test need. */
  readonly cluster?: ClusterFeatures;
}

/** Features of a cluster that are off by default. */
export interface ClusterFeatures {
  /** Feature gates that are enabled in the control plane and in the kubelet. */
  readonly gates: readonly string[];
  /** API versions that the API server serves in addition to its defaults, such as `resource.k8s.io/v1beta1`. */
  readonly apis: readonly string[];
}

export type SelectionName =
  | 'slice'
  | 'node-conformance'
  | 'network'
  | 'storage'
  | 'storage-local'
  | 'storage-in-tree'
  | 'csi-hostpath'
  | 'csi-mock'
  | 'node'
  | 'pod-level-resize'
  | 'dra'
  | 'e2e-node'
  | 'e2e-node-serial'
  | 'e2e-node-eviction'
  | 'e2e-node-resources'
  | 'dra-node';

/** Name of a spec that takes 27 minutes: it waits until the restart back-off reaches its maximum. */
export const LONG_SPEC = 'should cap back-off at MaxContainerBackOff';

/**
 * Labels of the specs that upstream's release jobs run on any cluster: they need no optional feature and can run in
 * parallel.
 */
const EVERYWHERE = 'Feature: isEmpty && !Disruptive && !Flaky && !Slow';

/** A few short specs of each area of NodeConformance, without specs whose result depends on the machine's speed. */
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
    title: 'Selected NodeConformance specs, two minutes',
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
    title: 'Conformance of sig-storage, without NodeConformance',
    suite: 'e2e',
    labels: 'sig-storage && Conformance && !NodeConformance',
    focus: [],
    skip: [],
  },
  'storage-local': {
    title: 'Local volumes of sig-storage: block devices, directories, links, tmpfs',
    suite: 'e2e',
    labels: `sig-storage && ${EVERYWHERE}`,
    // Local volumes are provisioned in advance. The driver skips the specs of all other patterns.
    focus: ['\\[Driver: local\\].*Testpattern: Pre-provisioned PV', 'PersistentVolumes-local'],
    // The type gce-localssd needs a disk of a cloud, and ntfs needs Windows.
    skip: ['gce-localssd', 'ntfs'],
  },
  'storage-in-tree': {
    title: 'Volumes of sig-storage without a storage driver: hostPath, emptyDir, subPath, protection, expansion',
    suite: 'e2e',
    labels: `sig-storage && !Conformance && !NodeConformance && ${EVERYWHERE}`,
    // These drivers have inline volumes only, and skip the specs of all other patterns.
    focus: [
      '\\[Driver: (hostPath|hostPathSymlink|emptydir)\\].*Testpattern: Inline-volume',
      'Subpath',
      'Ephemeralstorage',
      '(PV|PVC) Protection',
      'PersistentVolumes-expansion',
      'Flexvolumes',
    ],
    skip: ['ntfs'],
  },
  'csi-hostpath': {
    title: 'CSI host path driver of sig-storage',
    suite: 'e2e',
    labels: `sig-storage && ${EVERYWHERE}`,
    focus: ['\\[Driver: csi-hostpath\\]'],
    // The specs wait ten minutes for the image of a volume populator, which is not made.
    skip: ['any volume data source'],
    deploysDrivers: true,
  },
  'csi-mock': {
    title: 'CSI mock driver of sig-storage',
    suite: 'e2e',
    labels: `sig-storage && ${EVERYWHERE}`,
    focus: ['CSI Mock'],
    skip: [],
    deploysDrivers: true,
  },
  node: {
    title: 'sig-node of e2e.test, without NodeConformance, DRA and pod-level resizes',
    suite: 'e2e',
    labels: `sig-node && !NodeConformance && ${EVERYWHERE}`,
    focus: [],
    // Of the DRA specs, only those about the API are run.
    skip: ['PLR Pod InPlace Resize', '\\[DRA\\] (control plane|ResourceSlice Controller)'],
  },
  'pod-level-resize': {
    title: 'Pod-level resizes of sig-node in e2e.test',
    suite: 'e2e',
    labels: `sig-node && !NodeConformance && ${EVERYWHERE}`,
    focus: ['PLR Pod InPlace Resize'],
    skip: [],
  },
  dra: {
    title: 'DRA specs of e2e.test',
    suite: 'e2e',
    labels: 'DRA',
    focus: [],
    skip: [],
    deploysProxy: true,
    // The gates and API versions of upstream's cluster for these specs (test/e2e/dra/kind.yaml).
    cluster: {
      gates: ['DRADeviceTaintRules', 'DRAResourcePoolStatus', 'DRAWorkloadResourceClaims', 'GenericWorkload'],
      apis: [
        'resource.k8s.io/v1alpha3',
        'resource.k8s.io/v1beta1',
        'resource.k8s.io/v1beta2',
        'scheduling.k8s.io/v1alpha2',
      ],
    },
  },
  'e2e-node': {
    title: 'NodeConformance of e2e_node.test',
    suite: 'e2e_node',
    labels: 'NodeConformance && !Serial',
    focus: [],
    skip: [],
  },
  'e2e-node-serial': {
    title: 'Serial specs of e2e_node.test: restarts, garbage collection, logs, grace periods, probes',
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
    title: 'Serial specs of e2e_node.test: eviction and image garbage collection',
    suite: 'e2e_node',
    labels: 'Serial',
    focus: ['Eviction'],
    skip: [],
    fillsDisk: true,
  },
  'e2e-node-resources': {
    title:
      'Serial specs of e2e_node.test: CPU, memory and topology managers, pod resources, huge pages, device plugins',
    suite: 'e2e_node',
    // The specs of the alpha gate PodLevelResourceManagers need a suite that was started with this gate.
    labels:
      'Serial && !(Feature: containsAny PodLevelResourceManagers) && ' +
      'Feature: containsAny {CPUManager, MemoryManager, TopologyManager, PodResourcesAPI, HugePages, DeviceManager, DevicePlugin}',
    focus: [],
    skip: [],
  },
  'dra-node': {
    title: 'DRA specs of e2e_node.test',
    suite: 'e2e_node',
    labels: 'DRA',
    focus: [],
    skip: [],
  },
};
