import { brand, hasBrand } from '@node-agent/async';

/**
 * Error codes of `ContainerResourcesError`. `TopologyUnreadable`: the machine's CPUs or NUMA nodes cannot be read.
 * `InvalidOptions`: a policy or an option does not fit this machine or the other options. `StateRefused`: a state file
 * of an earlier kubelet cannot be used; the node must be drained and the file removed. `StateNotWritten`: an allocation
 * could not be stored, so that it must not be used. `Refused`: a container cannot get the resources that it requests.
 * The messages of the last four are upstream's.
 */
export type ContainerResourcesErrorCode =
  | 'TopologyUnreadable'
  | 'InvalidOptions'
  | 'StateRefused'
  | 'StateNotWritten'
  | 'Refused';

const BRAND = '@node-agent/cm-resources.ContainerResourcesError';

/** Error of the CPU, memory or topology manager. */
export class ContainerResourcesError extends Error {
  static {
    brand(ContainerResourcesError, BRAND);
  }

  override readonly name = 'ContainerResourcesError';
  readonly code: ContainerResourcesErrorCode;
  /** Reason of the pod's rejection, if the error rejects a pod. Default: `UnexpectedAdmissionError`. */
  readonly reason: string | undefined;

  constructor(
    code: ContainerResourcesErrorCode,
    message: string,
    options?: ErrorOptions & { readonly reason?: string },
  ) {
    super(message, options);
    this.code = code;
    this.reason = options?.reason;
  }

  /** Returns whether `value` is a `ContainerResourcesError`, created by this or another copy of the package. */
  static is(value: unknown): value is ContainerResourcesError {
    return hasBrand(value, BRAND);
  }
}
