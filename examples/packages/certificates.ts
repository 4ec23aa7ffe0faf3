// From packages/certificates/README.md, which explains the program.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { SelfSignedFiles, ServingCertificateFiles, serveWith } from '@node-agent/certificates';
import { nodeFileSystem as fs } from '@node-agent/host';

const directory = await mkdtemp(join(tmpdir(), 'certificates-'));
const selfSigned = new SelfSignedFiles({ fs }, { directory, host: 'node-1' });
await selfSigned.ensure();
const certificate = new ServingCertificateFiles({ fs }, selfSigned.files);
await certificate.load();

const server = createServer((socket) => socket.end('hello\n'));
const stop = serveWith(server, certificate, { minVersion: 'TLSv1.2' });
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as { port: number };
const socket = connect({ port, host: '127.0.0.1', servername: 'node-1', ca: certificate.current?.cert ?? '' });
for await (const text of socket.setEncoding('utf8')) console.log(socket.getPeerCertificate().subjectaltname, text.trim());
stop();
server.close();
await rm(directory, { recursive: true });
