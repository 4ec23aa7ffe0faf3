import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { bringCoreDns } from '../src/coredns.ts';
import { downloadPrograms } from '../src/download.ts';
import { run } from '../src/run.ts';

const ARCH = process.arch === 'arm64' ? 'arm64' : 'amd64';
const published = new Map<string, Buffer>();
let directory = '';
let binDir = '';
let server: Server;
let mirrors: { kubernetes: string; etcd: string };

beforeEach(async () => {
  published.clear();
  directory = await mkdtemp(join(tmpdir(), 'na-download-'));
  binDir = join(directory, 'bin');
  await mkdir(binDir);
  server = createServer((request, response) => {
    const found = published.get(request.url ?? '');
    response.writeHead(found === undefined ? 404 : 200).end(found);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  mirrors = { kubernetes: url, etcd: url };
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true });
});

const sha256 = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

test('downloads executable programs and checks their checksums', async () => {
  const program = Buffer.from('#!/bin/sh\necho hello\n');
  const path = `/v1.36.3/bin/linux/${ARCH}/kubectl`;
  published.set(path, program).set(`${path}.sha256`, Buffer.from(`${sha256(program)}\n`));
  const release = `etcd-v3.6.8-linux-${ARCH}`;
  await mkdir(join(directory, release));
  await writeFile(join(directory, release, 'etcd'), '#!/bin/sh\necho etcd\n');
  await run('tar', ['-czf', 'etcd.tar.gz', `${release}/etcd`], { cwd: directory });
  const archive = await readFile(join(directory, 'etcd.tar.gz'));
  published.set(`/v3.6.8/${release}.tar.gz`, archive);
  published.set('/v3.6.8/SHA256SUMS', Buffer.from(`${'0'.repeat(64)}  other\n${sha256(archive)}  ${release}.tar.gz\n`));
  const messages: string[] = [];
  await downloadPrograms(['kubectl', 'etcd'], binDir, (text) => messages.push(text), mirrors);
  expect(await run(join(binDir, 'kubectl'), [])).toBe('hello\n');
  expect(await run(join(binDir, 'etcd'), [])).toBe('etcd\n');
  expect(messages).toHaveLength(2);
  expect((await stat(join(binDir, 'etcd'))).mode & 0o777).toBe(0o755);
});

test('extracts only the requested programs from the archive of tests', async () => {
  const bin = 'kubernetes/test/bin';
  await mkdir(join(directory, bin), { recursive: true });
  for (const name of ['e2e.test', 'e2e_node.test', 'ginkgo', 'kubemark']) {
    await writeFile(join(directory, bin, name), `#!/bin/sh\necho ${name}\n`);
  }
  await run('tar', ['-czf', 'tests.tar.gz', 'kubernetes'], { cwd: directory });
  const archive = await readFile(join(directory, 'tests.tar.gz'));
  const path = `/v1.36.3/kubernetes-test-linux-${ARCH}.tar.gz`;
  published.set(path, archive).set(`${path}.sha256`, Buffer.from(sha256(archive)));
  const messages: string[] = [];
  await downloadPrograms(['e2e.test', 'ginkgo'], binDir, (text) => messages.push(text), mirrors);
  expect([await run(join(binDir, 'e2e.test'), []), await run(join(binDir, 'ginkgo'), [])]).toEqual([
    'e2e.test\n',
    'ginkgo\n',
  ]);
  expect(await readdir(binDir)).toEqual(['e2e.test', 'ginkgo']);
  expect(messages).toHaveLength(1);
});

test('rejects a program with a wrong checksum and leaves no file', async () => {
  const path = `/v1.36.3/bin/linux/${ARCH}/kubectl`;
  published.set(path, Buffer.from('something else')).set(`${path}.sha256`, Buffer.from('0'.repeat(64)));
  await expect(downloadPrograms(['kubectl'], binDir, () => {}, mirrors)).rejects.toThrow(/SHA-256 is [0-9a-f]{64}/);
  expect(existsSync(join(binDir, 'kubectl'))).toBe(false);
  expect(await readdir(directory)).toEqual(['bin']);
});

test("downloads CoreDNS from its release's archive and checks the checksum", async () => {
  await writeFile(join(directory, 'coredns'), '#!/bin/sh\necho dns\n', { mode: 0o755 });
  await run('tar', ['-czf', 'coredns.tgz', 'coredns'], { cwd: directory });
  const archive = await readFile(join(directory, 'coredns.tgz'));
  const name = `coredns_1.15.0_linux_${ARCH}.tgz`;
  const sum = Buffer.from(`${sha256(archive)}  release/${name}\n`);
  published.set(`/v1.15.0/${name}`, archive).set(`/v1.15.0/${name}.sha256`, sum);
  await bringCoreDns(join(binDir, 'dns'), () => {}, mirrors.etcd);
  expect(await run(join(binDir, 'dns'), [])).toBe('dns\n');
  expect(await readdir(binDir)).toEqual(['dns']);
});

test('names the URL that does not exist', async () => {
  await expect(downloadPrograms(['kubelet'], binDir, () => {}, mirrors)).rejects.toThrow(/kubelet\.sha256: 404/);
  await expect(downloadPrograms(['etcd'], binDir, () => {}, mirrors)).rejects.toThrow(/SHA256SUMS: 404/);
});
