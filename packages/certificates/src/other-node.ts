import { type FileSystem, isMissing } from '@node-agent/host';
import { type LeafCertificate, parseCertificates } from './certificate-pair.ts';
import { CertificateError } from './errors.ts';
import { isSelfMade } from './self-signed-files.ts';
import { nodeSubject } from './subject.ts';

/** The certificates of a node in its certificate directory. */
const FILES = ['kubelet-client-current.pem', 'kubelet-server-current.pem', 'kubelet.crt'] as const;

/**
 * Refuses a certificate directory that belongs to another node. With that node's client certificate this node would act as the other one, and
 * with certificates of its own it would take the other's away. Upstream requests a certificate for its own name then, in the name of the other
 * node (`certSatisfiesTemplate`, `client-go/util/certificate/certificate_manager.go`).
 *
 * Files that are missing or damaged, and certificates that do not name a node, are no problem here.
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

/** The node that a certificate names; `undefined` if it names none. */
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
