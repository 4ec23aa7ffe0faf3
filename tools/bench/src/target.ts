/** Ratio of this kubelet's value to the Go kubelet's, and the greatest ratio that meets the target. */
interface Targeted {
  readonly ratio: number | undefined;
  readonly target: number | undefined;
}

/** Returns whether a value meets its target; `undefined` if there is no target or no comparison. */
export function ratioMeetsTarget({ ratio, target }: Targeted): boolean | undefined {
  return ratio === undefined || target === undefined ? undefined : ratio <= target;
}

/** Returns the text that a table shows for a met, missed or absent target. */
export function verdict(meets: boolean | undefined): string {
  return meets === undefined ? '' : meets ? 'ok' : 'MISS';
}
