/** What is wrong with a manifest, so that its author finds the place. */
export interface ManifestProblem {
  /** The file's path, or the URL. */
  readonly source: string;
  readonly message: string;
  /** From 1; absent where the whole source is meant. */
  readonly line?: number;
  readonly column?: number;
  /** The path of the field in the pod, as `spec.containers[0].image`. */
  readonly field?: string;
  /** Whether the pod runs all the same: what is said of it here is left out of it. */
  readonly isWarning?: true;
}

/** One line for people: `pods/web.yaml:7:5: spec.containers[0].image: required`. */
export function formatProblem(problem: ManifestProblem): string {
  const { source, line, column, field, message } = problem;
  const place = line === undefined ? source : `${source}:${line}${column === undefined ? '' : `:${column}`}`;
  return `${place}: ${field === undefined ? '' : `${field}: `}${message}`;
}
