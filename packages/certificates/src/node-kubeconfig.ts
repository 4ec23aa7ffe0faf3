import { errorCode, type FileSystem } from '@node-agent/host';
import { type ConnectionConfig, KubeError, loadKubeconfig, type PemSource } from '@node-agent/kube-client';
import { type CertificatePair, hasCertificate, parseCertificates, parsePair } from './certificate-pair.ts';
import { CertificateError } from './errors.ts';
import { isExpired } from './rotation-rules.ts';

/**
 * Why a kubeconfig cannot be used with a client certificate of its own, or its server not be believed, so that a node has to
 * begin with its bootstrap kubeconfig; `undefined` where it can be (`isClientConfigStillValid`).
 * @throws errors of the file system, where the file is there and cannot be read
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
    if (authority !== '' && !hasCertificate(authority)) return `${path}: its certificate authority is none`;
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
 * The certificate and key that a kubeconfig's user has, from where they are.
 * @throws CertificateError where they are none or do not belong together; errors of the file system
 */
export async function readPair(
  fs: Pick<FileSystem, 'readFile'>,
  { cert, key }: { readonly cert: PemSource; readonly key: PemSource },
): Promise<CertificatePair> {
  return parsePair(await textOf(fs, cert), await textOf(fs, key));
}

/** A PEM text, from where it is. @throws errors of the file system */
async function textOf(fs: Pick<FileSystem, 'readFile'>, source: PemSource): Promise<string> {
  return 'data' in source ? source.data : Buffer.from(await fs.readFile(source.file)).toString();
}

/**
 * The kubeconfig of a node, as upstream writes it: the cluster of its bootstrap kubeconfig, and the certificate at `pemPath`
 * (`writeKubeconfigFromBootstrapping`). The way through a proxy and the name of the server stay too.
 * @returns YAML; every text in it is quoted as in JSON
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

/** Writes a node's kubeconfig, whole or not at all, for its owner alone. @throws errors of the file system */
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
