/** What promtool says of a page: `metric what is wrong`, a line each. */
export function promtoolComplaints(output: string): readonly string[] {
  const lines = output.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))].sort();
}

/** What is said of one page and not of the other. @param theirs of the Go kubelet; nothing is allowed for where absent */
export function ownComplaints(ours: readonly string[], theirs: readonly string[] = []): readonly string[] {
  return ours.filter((line) => !theirs.includes(line));
}
