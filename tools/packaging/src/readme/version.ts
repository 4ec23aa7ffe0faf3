/** Replaces the kubelet's version wherever a README shows it. */
export function withKubeletVersion(readme: string, version: string): string {
  return readme.replaceAll(/(\+node-agent\.)\d+\.\d+\.\d+(?:-[\w.-]*\w)?/g, `$1${version}`);
}
