/** A README in which the kubelet's version, wherever it is shown, is the one that its build says. */
export function withKubeletVersion(readme: string, version: string): string {
  return readme.replaceAll(/(\+node-agent\.)\d+\.\d+\.\d+(?:-[\w.-]*\w)?/g, `$1${version}`);
}
