import { type FileSystem, isMissing } from '@node-agent/host';
import { type LeafCertificate, parseCertificates } from './certificate-pair.ts';
import { CertificateError } from './errors.ts';
import { isSelfMade } from './self-signed-files.ts';
import { nodeSubject } from './subject.ts';

/** The files of a certificate directory that may contain a node's certificate. */
const FILES = ['kubelet-client-current.pem', 'kubelet-server-current.pem', 'kubelet.crt'] as const;

/**
 * Rejects a certificate directory that belongs to another node. With the client certificate of the other node, this
 * node would act as that node, and new certificates of this node would replace those of the other node. Upstream uses
 * the other node's identity to request a certificate for its own name (`certSatisfiesTemplate`,
 * `client-go/util/certificate/certificate_manager.go`).
 *
 * Missing or damaged files and certificates without a node name are accepted.
 * @throws CertificateError `OtherNode`, naming the file and the node; errors of the file system
 */
export async function refuseOtherNode(
  fs: Pick<FileSystem, 'readFile'>,
  { directory, nodeName }: { readonly directory: string; readonly nodeName: string },
): Promise<void> {
  for (const name of FILES) {
    const path = `${directory}/${name}`;
    const leaf = await leafOf(fs, path);
    const owner = leaf === undefined ? undefined : nodeOf(leaf);
    if (owner === undefined || owner === nodeName) continue;
    const way = 'give this node another --cert-dir, or remove the file if the node was renamed';
    throw new CertificateError('OtherNode', `${path} is the certificate of node ${owner}, not of ${nodeName}: ${way}`);
  }
}

/** Returns the name of the node in a certificate's subject; `undefined` if there is none. */
function nodeOf(leaf: LeafCertificate): string | undefined {
  const prefix = nodeSubject('').commonName;
  if (leaf.commonName.startsWith(prefix)) return leaf.commonName.slice(prefix.length);
  return isSelfMade(leaf) ? leaf.commonName.replace(/@\d+$/, '') : undefined;
}

async function leafOf(fs: Pick<FileSystem, 'readFile'>, path: string): Promise<LeafCertificate | undefined> {
  try {
    const [leaf] = parseCertificates(Buffer.from(await fs.readFile(path)).toString());
    return leaf;
  } catch (error) {
    if (isMissing(error) || error instanceof CertificateError) return undefined;
    throw error;
  }
}
