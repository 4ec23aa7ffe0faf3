import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ProgramName } from './binaries.ts';
import { run } from './run.ts';
import { ETCD_VERSION, KUBERNETES_VERSION } from './versions.ts';

/** URLs of the releases. */
export interface Mirrors {
  readonly kubernetes: string;
  readonly etcd: string;
}

const MIRRORS: Mirrors = {
  kubernetes: 'https://dl.k8s.io',
  etcd: 'https://github.com/etcd-io/etcd/releases/download',
};
/**
 * Time limit in ms for checksums. The limit is short, so that a machine without access to the releases does not wait.
 */
const HEAD_TIMEOUT_MS = 5_000;

/** Programs that the release publishes in one archive of tests. */
const TEST_PROGRAMS = ['e2e.test', 'e2e_node.test', 'ginkgo'] as const;

/** Name of a program that the release publishes, by itself or in the archive of tests. */
export type PublishedName = ProgramName | (typeof TEST_PROGRAMS)[number];

/** Options of one download. */
interface Download {
  readonly mirrors: Mirrors;
  readonly arch: string;
  /** Temporary directory for downloaded files. */
  readonly work: string;
  readonly say: (text: string) => void;
}

/**
 * Downloads programs of the Kubernetes release and checks their checksums.
 * @throws Error if a download fails or a checksum differs
 */
export async function downloadPrograms(
  names: readonly PublishedName[],
  binDir: string,
  say: (text: string) => void,
  mirrors: Mirrors = MIRRORS,
): Promise<void> {
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
  if (arch === undefined) throw new Error(`no binaries are published for ${process.arch}`);
  const work = `${binDir}.${process.pid}`;
  await mkdir(work, { recursive: true });
  const download: Download = { mirrors, arch, work, say };
  const tests = TEST_PROGRAMS.filter((name) => names.includes(name));
  try {
    for (const name of names.filter((one) => !isTestProgram(one))) {
      if (name === 'etcd') await downloadEtcd(download);
      else await downloadProgram(name, download);
      await bring([name], work, binDir);
    }
    if (tests.length === 0) return;
    await downloadTests(tests, download);
    await bring(tests, work, binDir);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function isTestProgram(name: PublishedName): boolean {
  return (TEST_PROGRAMS as readonly string[]).includes(name);
}

async function bring(names: readonly string[], from: string, to: string): Promise<void> {
  for (const name of names) {
    await chmod(join(from, name), 0o755);
    await rename(join(from, name), join(to, name));
  }
}

async function downloadProgram(name: string, { mirrors, arch, work, say }: Download): Promise<void> {
  const url = `${mirrors.kubernetes}/v${KUBERNETES_VERSION}/bin/linux/${arch}/${name}`;
  const sum = await fetchText(`${url}.sha256`);
  say(`downloading ${url}`);
  await fetchChecked(url, sum.trim(), join(work, name));
}

async function downloadEtcd({ mirrors, arch, work, say }: Download): Promise<void> {
  const release = `etcd-v${ETCD_VERSION}-linux-${arch}`;
  const archive = `${release}.tar.gz`;
  const sums = await fetchText(`${mirrors.etcd}/v${ETCD_VERSION}/SHA256SUMS`);
  const sum = sums.split('\n').find((line) => line.endsWith(` ${archive}`));
  if (sum === undefined) throw new Error(`${mirrors.etcd}: no checksum of ${archive}`);
  const url = `${mirrors.etcd}/v${ETCD_VERSION}/${archive}`;
  say(`downloading ${url}`);
  await fetchChecked(url, sum.split(' ')[0] ?? '', join(work, archive));
  await run('tar', ['-xzf', archive, '--strip-components=1', `${release}/etcd`], { cwd: work });
}

async function downloadTests(names: readonly string[], { mirrors, arch, work, say }: Download): Promise<void> {
  const archive = `kubernetes-test-linux-${arch}.tar.gz`;
  const url = `${mirrors.kubernetes}/v${KUBERNETES_VERSION}/${archive}`;
  const sum = await fetchText(`${url}.sha256`);
  say(`downloading ${url}, several hundred megabytes`);
  await fetchChecked(url, sum.trim(), join(work, archive));
  const members = names.map((name) => `kubernetes/test/bin/${name}`);
  await run('tar', ['-xzf', archive, '--strip-components=3', ...members], { cwd: work });
}

/** Downloads a short text, such as a checksum. @throws Error that contains the URL */
export async function fetchText(url: string): Promise<string> {
  return (await get(url, HEAD_TIMEOUT_MS)).text();
}

/**
 * Downloads a file and checks its checksum.
 * @param timeoutMs time limit for the whole download. Default: none
 * @throws Error that contains the URL; the file is incomplete or wrong then
 */
export async function fetchChecked(url: string, sha256: string, file: string, timeoutMs?: number): Promise<void> {
  const { body } = await get(url, timeoutMs);
  if (body === null) throw new Error(`${url}: empty response`);
  const hash = createHash('sha256');
  const hashed = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      hash.update(chunk);
      yield chunk;
    }
  };
  await pipeline(Readable.fromWeb(body), hashed, createWriteStream(file));
  const found = hash.digest('hex');
  if (found !== sha256) throw new Error(`${url}: SHA-256 is ${found}, expected ${sha256}`);
}

async function get(url: string, timeoutMs?: number): Promise<Response> {
  const signal = timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(timeoutMs) };
  const response = await fetch(url, signal).catch((error: unknown) => {
    throw new Error(`${url}: cannot be reached`, { cause: error });
  });
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return response;
}
