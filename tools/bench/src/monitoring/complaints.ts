/** Splits promtool's output into its complaints, one line `METRIC PROBLEM` each. */
export function promtoolComplaints(output: string): readonly string[] {
  const lines = output.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))].sort();
}

/**
 * Returns the complaints about this kubelet's page that promtool does not have about the Go kubelet's. @param theirs
 * complaints about the Go kubelet's page; empty by default
 */
export function ownComplaints(ours: readonly string[], theirs: readonly string[] = []): readonly string[] {
  return ours.filter((line) => !theirs.includes(line));
}
