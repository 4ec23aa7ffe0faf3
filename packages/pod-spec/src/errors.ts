/** What was wrong with the text that a {@link PodSpecError} is about. */
export type PodSpecErrorCode =
  | 'InvalidQuantity'
  | 'InvalidImageName'
  | 'InvalidContainerId'
  | 'InvalidResource'
  | 'InvalidFieldPath'
  | 'TooLong';

/** Every copy and version of this package marks its errors with it. */
const BRAND = Symbol.for('@node-agent/pod-spec.PodSpecError');

/** A piece of the pod API that cannot be read. */
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

  /** Whether a value is a `PodSpecError`, of this copy of the package or of another one. */
  static is(value: unknown): value is PodSpecError {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}
