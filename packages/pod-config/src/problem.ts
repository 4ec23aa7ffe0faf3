/** A problem of a manifest, with its position for the author. */
export interface ManifestProblem {
  /** Path of the file, or URL. */
  readonly source: string;
  readonly message: string;
  /** Line and column start at 1; absent if the problem concerns the whole source. */
  readonly line?: number;
  readonly column?: number;
  /** Field path in the pod: `spec.containers[0].image`. */
  readonly field?: string;
  /** Set if the pod runs nevertheless, without the field that the warning is about. */
  readonly isWarning?: true;
}

/** Formats a problem as one line: `pods/web.yaml:7:5: spec.containers[0].image: required`. */
export function formatProblem(problem: ManifestProblem): string {
  const { source, line, column, field, message } = problem;
  const place = line === undefined ? source : `${source}:${line}${column === undefined ? '' : `:${column}`}`;
  return `${place}: ${field === undefined ? '' : `${field}: `}${message}`;
}
