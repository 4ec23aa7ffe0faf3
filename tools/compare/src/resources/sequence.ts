import type { NumaMemoryReservation, TopologyPolicyName, TopologyScope } from '@node-agent/cm-resources';
import type { Pod } from '@node-agent/pod-spec';

/** Configuration of a node, with the names of the KubeletConfiguration. */
export interface NodeConfig {
  readonly cpuManagerPolicy: 'none' | 'static';
  readonly cpuManagerPolicyOptions: Readonly<Record<string, string>>;
  readonly reservedSystemCPUs: string;
  readonly memoryManagerPolicy: 'None' | 'Static';
  readonly reservedMemory: readonly NumaMemoryReservation[];
  readonly topologyManagerPolicy: TopologyPolicyName;
  readonly topologyManagerScope: TopologyScope;
  readonly topologyManagerPolicyOptions: Readonly<Record<string, string>>;
  readonly nodeReservation: Readonly<Record<string, string>>;
  readonly featureGates: Readonly<Record<string, boolean>>;
}

/** NUMA hint of a device manager. */
interface DeviceHint {
  readonly nodes: readonly number[];
  readonly preferred: boolean;
}

/**
 * Hints of each container: a map by container name of maps by resource. The empty container name stands for the pod as
 * a whole.
 */
export type DeviceHints = Readonly<Record<string, Readonly<Record<string, readonly DeviceHint[]>>>>;

/** State files by name. */
export type StateTexts = Readonly<Record<string, string>>;

/** An event on the node. */
export type Step =
  | { readonly op: 'admit'; readonly pod: Pod; readonly devices: DeviceHints }
  | { readonly op: 'remove'; readonly uid: string }
  /** The start of a container of the pod, which means that the init containers before it have finished. */
  | { readonly op: 'start'; readonly uid: string; readonly container: string }
  /** A restart of the kubelet. If `files` is set, they replace the state files. */
  | { readonly op: 'restart'; readonly files?: StateTexts };

/** A node and the events on it. */
export interface Sequence {
  /** Name of the topology. */
  readonly topology: string;
  readonly config: NodeConfig;
  readonly steps: readonly Step[];
}

/** Memory that a container has. */
export interface Block {
  readonly nodes: readonly number[];
  readonly resource: string;
  readonly bytes: number;
}

/** Description of the node after a step. */
export interface Answer {
  /** Error because of which the kubelet does not start. Other fields are then absent. */
  readonly error?: string;
  readonly admit?: boolean;
  readonly reason?: string;
  readonly message?: string;
  /** Duration of the admission, in nanoseconds. */
  readonly nanoseconds?: number;
  readonly files?: StateTexts;
  /** CPUs on which each container of an active pod may run, exclusive or shared, by `UID/container`. */
  readonly affinity?: Readonly<Record<string, string>>;
  /** Exclusive CPUs of each container as the podresources API reports them, by `UID/container`. */
  readonly exclusive?: Readonly<Record<string, readonly number[]>>;
  /** Memory of each container as the podresources API reports it, by `UID/container`, sorted by resource. */
  readonly memory?: Readonly<Record<string, readonly Block[]>>;
  readonly allocatableCPUs?: readonly number[];
  readonly allocatableMemory?: readonly Block[];
}
