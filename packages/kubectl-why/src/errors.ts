/** Nothing could be explained. The message says what to do. */
export class WhyError extends Error {
  override readonly name = 'WhyError';
}
