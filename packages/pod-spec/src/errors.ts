/** Kind of text that a {@link PodSpecError} is about. */
export type PodSpecErrorCode =
  | 'InvalidQuantity'
  | 'InvalidImageName'
  | 'InvalidContainerId'
  | 'InvalidResource'
  | 'InvalidFieldPath'
  | 'TooLong';

/** Symbol by which all copies and versions of this package recognize their errors. */
const BRAND = Symbol.for('@node-agent/pod-spec.PodSpecError');

/** Error for a part of the pod API that cannot be parsed. */
export class PodSpecError extends Error {
  static {
    Object.defineProperty(PodSpecError.prototype, BRAND, { value: true });
  }

  readonly code: PodSpecErrorCode;

  constructor(code: PodSpecErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PodSpecError';
    this.code = code;
  }

  /** Returns whether a value is a `PodSpecError` of this copy of the package or of another copy. */
  static is(value: unknown): value is PodSpecError {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}
