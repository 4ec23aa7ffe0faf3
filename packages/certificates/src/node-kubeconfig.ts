import { errorCode, type FileSystem } from '@node-agent/host';
import { type ConnectionConfig, KubeError, loadKubeconfig, type PemSource } from '@node-agent/kube-client';
import { type CertificatePair, hasCertificate, parseCertificates, parsePair } from './certificate-pair.ts';
import { CertificateError } from './errors.ts';
import { isExpired } from './rotation-rules.ts';

/**
 * Returns why a kubeconfig cannot be used, for example because it has no valid client certificate or CA, so that the
 * node must start from its bootstrap kubeconfig. Returns `undefined` if the kubeconfig can be used (upstream:
 * `isClientConfigStillValid`).
 * @throws errors of the file system if the file exists but is unreadable
 */
export async function kubeconfigProblem(
  fs: Pick<FileSystem, 'exists' | 'readFile'>,
  path: string,
  nowMs: number,
): Promise<string | undefined> {
  if (!(await fs.exists(path))) return `${path} does not exist`;
  try {
    const { cluster, user } = await loadKubeconfig({ fs }, path);
    const authority = cluster.ca === undefined ? '' : await textOf(fs, cluster.ca);
    if (authority !== '' && !hasCertificate(authority)) return `${path}: its certificate authority is invalid`;
    if (user.clientCertificate === undefined) return `${path} has no client certificate`;
    const cert = await textOf(fs, user.clientCertificate.cert);
    parsePair(cert, await textOf(fs, user.clientCertificate.key));
    if (parseCertificates(cert).some((one) => isExpired(one, nowMs))) {
      return `part of the existing bootstrap client certificate in ${path} is expired`;
    }
    return undefined;
  } catch (error) {
    const isBad = error instanceof CertificateError || KubeError.is(error) || errorCode(error) === 'ENOENT';
    if (isBad && error instanceof Error) return `${path}: ${error.message}`;
    throw error;
  }
}

/**
 * Reads the certificate and key of a kubeconfig's user.
 * @throws CertificateError if certificate or key is invalid, or if they do not match; errors of the file system
 */
export async function readPair(
  fs: Pick<FileSystem, 'readFile'>,
  { cert, key }: { readonly cert: PemSource; readonly key: PemSource },
): Promise<CertificatePair> {
  return parsePair(await textOf(fs, cert), await textOf(fs, key));
}

/** Returns a PEM text from its source. @throws errors of the file system */
async function textOf(fs: Pick<FileSystem, 'readFile'>, source: PemSource): Promise<string> {
  return 'data' in source ? source.data : Buffer.from(await fs.readFile(source.file)).toString();
}

/**
 * Renders a node's kubeconfig as upstream writes it: the cluster of its bootstrap kubeconfig, and the certificate at
 * `pemPath` (`writeKubeconfigFromBootstrapping`). Proxy and TLS server name are kept.
 * @returns YAML with all strings quoted as in JSON
 */
function renderKubeconfig({ cluster }: Pick<ConnectionConfig, 'cluster'>, pemPath: string): string {
  const { ca, server, skipTlsVerify, tlsServerName, proxyUrl } = cluster;
  const fields: Readonly<Record<string, string | boolean | undefined>> = {
    'certificate-authority': ca !== undefined && 'file' in ca ? ca.file : undefined,
    'certificate-authority-data':
      ca !== undefined && 'data' in ca ? Buffer.from(ca.data).toString('base64') : undefined,
    'insecure-skip-tls-verify': skipTlsVerify === true ? true : undefined,
    'proxy-url': proxyUrl,
    server,
    'tls-server-name': tlsServerName,
  };
  const lines = Object.entries(fields).filter(([, value]) => value !== undefined);
  return `apiVersion: v1
kind: Config
clusters:
- name: default-cluster
  cluster:
${lines.map(([name, value]) => `    ${name}: ${JSON.stringify(value)}`).join('\n')}
contexts:
- name: default-context
  context:
    cluster: default-cluster
    namespace: default
    user: default-auth
current-context: default-context
users:
- name: default-auth
  user:
    client-certificate: ${JSON.stringify(pemPath)}
    client-key: ${JSON.stringify(pemPath)}
`;
}

/** Writes a node's kubeconfig atomically, readable only by its owner. @throws errors of the file system */
export async function writeKubeconfig(
  fs: Pick<FileSystem, 'mkdir' | 'writeFileAtomic'>,
  path: string,
  connection: Pick<ConnectionConfig, 'cluster'>,
  pemPath: string,
): Promise<void> {
  const slash = path.lastIndexOf('/');
  if (slash > 0) await fs.mkdir(path.slice(0, slash));
  await fs.writeFileAtomic(path, renderKubeconfig(connection, pemPath), { mode: 0o600 });
}
