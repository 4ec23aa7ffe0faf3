/** Why nothing could be explained, in words that say what to do. */
export class WhyError extends Error {
  override readonly name = 'WhyError';
}
