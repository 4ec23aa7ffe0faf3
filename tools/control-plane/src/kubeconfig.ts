/** Content of a kubeconfig with one cluster and one user. */
export interface Kubeconfig {
  readonly server: string;
  /** CA certificate, PEM. */
  readonly ca: string;
  readonly user: { readonly cert: string; readonly key: string } | { readonly token: string };
}

/** Returns a self-contained kubeconfig in JSON, which is also YAML. */
export function kubeconfig({ server, ca, user }: Kubeconfig): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const credentials =
    'token' in user
      ? { token: user.token }
      : { 'client-certificate-data': base64(user.cert), 'client-key-data': base64(user.key) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'node-agent', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: 'user', user: credentials }],
    contexts: [{ name: 'default', context: { cluster: 'node-agent', user: 'user' } }],
    'current-context': 'default',
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
