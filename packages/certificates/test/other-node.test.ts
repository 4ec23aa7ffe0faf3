import { MemoryFileSystem } from '@node-agent/host/testing';
import { expect, test } from 'vitest';
import { refuseOtherNode } from '../src/other-node.ts';
import { SelfSignedFiles } from '../src/self-signed-files.ts';
import { makePair } from './fixtures.ts';

const directory = '/pki';

async function filesWith(files: Readonly<Record<string, string>>): Promise<MemoryFileSystem> {
  const fs = new MemoryFileSystem();
  await fs.mkdir(directory);
  for (const [name, text] of Object.entries(files)) {
    await fs.writeFileAtomic(`${directory}/${name}`, new TextEncoder().encode(text));
  }
  return fs;
}

const { cert, key } = makePair();
const { cert: otherKind } = makePair({
  subject: { commonName: 'kubelet-client', organizations: [], dnsNames: [], ipAddresses: [] },
});

test.each([
  ['kubelet-client-current.pem', `${cert}${key}`],
  ['kubelet-server-current.pem', `${cert}${key}`],
])(
  'refuses a stored %s of another node with an error that names that node, and accepts the file of this node',
  async (name, text) => {
    const fs = await filesWith({ [name]: text });
    await refuseOtherNode(fs, { directory, nodeName: 'n1' });
    await expect(refuseOtherNode(fs, { directory, nodeName: 'n2' })).rejects.toMatchObject({
      code: 'OtherNode',
      message:
        `/pki/${name} is the certificate of node n1, not of n2: ` +
        'give this node another --cert-dir, or remove the file if the node was renamed',
    });
  },
);

test('refuses the self-signed certificate of another node with an error that names that node, and accepts that of this node', async () => {
  const fs = await filesWith({});
  await new SelfSignedFiles({ fs }, { directory, host: 'n1' }).ensure();
  await refuseOtherNode(fs, { directory, nodeName: 'n1' });
  await expect(refuseOtherNode(fs, { directory, nodeName: 'n10' })).rejects.toThrow(
    '/pki/kubelet.crt is the certificate of node n1, not of n10',
  );
});

test.each<[string, Readonly<Record<string, string>>]>([
  ['no files', {}],
  ['damaged files', { 'kubelet-client-current.pem': cert.slice(0, 99), 'kubelet.crt': 'x' }],
  ['certificates that name no node', { 'kubelet-client-current.pem': otherKind, 'kubelet.crt': otherKind }],
])('the check for certificates of another node accepts %s', async (_name, files) => {
  await refuseOtherNode(await filesWith(files), { directory, nodeName: 'n2' });
});
