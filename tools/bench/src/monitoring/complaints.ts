/** Splits the output of `promtool check metrics` into its complaints, one line `METRIC PROBLEM` each. */
export function promtoolComplaints(output: string): readonly string[] {
  const lines = output.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))].sort();
}

/**
 * Returns promtool's complaints about this kubelet's page, without those that promtool also reports for the Go
 * kubelet's page. @param theirs complaints about the Go kubelet's page; empty by default
 */
export function ownComplaints(ours: readonly string[], theirs: readonly string[] = []): readonly string[] {
  return ours.filter((line) => !theirs.includes(line));
}
