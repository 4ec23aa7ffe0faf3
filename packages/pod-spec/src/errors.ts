/** What was wrong with the text that a {@link PodSpecError} is about. */
export type PodSpecErrorCode =
  | 'InvalidQuantity'
  | 'InvalidImageName'
  | 'InvalidContainerId'
  | 'InvalidResource'
  | 'InvalidFieldPath';

/** A piece of the pod API that cannot be read. */
export class PodSpecError extends Error {
  readonly code: PodSpecErrorCode;

  constructor(code: PodSpecErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PodSpecError';
    this.code = code;
  }
}
