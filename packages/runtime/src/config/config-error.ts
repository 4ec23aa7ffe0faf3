/**
 * - `InvalidSpec`: the pod asks for something that makes no sense; it will not get better by trying again.
 * - `Unsupported`: the pod asks for something that this kubelet has not got.
 * - `NonRootViolation`: `runAsNonRoot` cannot be honoured.
 * - `MissingObject`: a secret, configMap or a key of one is not there (yet).
 */
export type ContainerConfigErrorCode = 'InvalidSpec' | 'Unsupported' | 'NonRootViolation' | 'MissingObject';

/**
 * A sandbox or container that cannot be described to the runtime. A container waits with the reason
 * `CreateContainerConfigError` then, and this message.
 */
export class ContainerConfigError extends Error {
  override readonly name = 'ContainerConfigError';
  readonly code: ContainerConfigErrorCode;

  constructor(code: ContainerConfigErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
