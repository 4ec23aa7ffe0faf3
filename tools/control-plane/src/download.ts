import { createHash } from 'node:crypto';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProgramName } from './binaries.ts';
import { run } from './run.ts';
import { ETCD_VERSION, KUBERNETES_VERSION } from './versions.ts';

/** Where releases are published. */
export interface Mirrors {
  readonly kubernetes: string;
  readonly etcd: string;
}

const MIRRORS: Mirrors = {
  kubernetes: 'https://dl.k8s.io',
  etcd: 'https://github.com/etcd-io/etcd/releases/download',
};
/** A machine that cannot reach them shall not wait for them. */
const HEAD_TIMEOUT_MS = 5_000;

/** Downloads programs of the release, and checks their sums. @throws Error where they cannot be had, or are not what they should be */
export async function downloadPrograms(
  names: readonly ProgramName[],
  binDir: string,
  say: (text: string) => void,
  mirrors: Mirrors = MIRRORS,
): Promise<void> {
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
  if (arch === undefined) throw new Error(`nothing is published for ${process.arch}`);
  const work = `${binDir}.${process.pid}`;
  await mkdir(work, { recursive: true });
  try {
    for (const name of names) {
      const file = join(work, name);
      if (name === 'etcd') await downloadEtcd(mirrors.etcd, arch, work, file, say);
      else {
        const url = `${mirrors.kubernetes}/v${KUBERNETES_VERSION}/bin/linux/${arch}/${name}`;
        const sum = await text(`${url}.sha256`);
        say(`downloading ${url}`);
        await writeFile(file, await checked(url, sum.trim()));
      }
      await chmod(file, 0o755);
      await rename(file, join(binDir, name));
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function downloadEtcd(
  mirror: string,
  arch: string,
  work: string,
  file: string,
  say: (text: string) => void,
): Promise<void> {
  const release = `etcd-v${ETCD_VERSION}-linux-${arch}`;
  const archive = `${release}.tar.gz`;
  const sums = await text(`${mirror}/v${ETCD_VERSION}/SHA256SUMS`);
  const sum = sums.split('\n').find((line) => line.endsWith(` ${archive}`));
  if (sum === undefined) throw new Error(`${mirror}: there is no sum of ${archive}`);
  const url = `${mirror}/v${ETCD_VERSION}/${archive}`;
  say(`downloading ${url}`);
  await writeFile(join(work, archive), await checked(url, sum.split(' ')[0] ?? ''));
  await run('tar', ['-xzf', archive, `${release}/etcd`], { cwd: work });
  await rename(join(work, release, 'etcd'), file);
}

async function text(url: string): Promise<string> {
  return (await get(url, HEAD_TIMEOUT_MS)).text();
}

async function checked(url: string, sha256: string): Promise<Buffer> {
  const data = Buffer.from(await (await get(url)).arrayBuffer());
  const found = createHash('sha256').update(data).digest('hex');
  if (found !== sha256) throw new Error(`${url}: its SHA-256 is ${found}, and should be ${sha256}`);
  return data;
}

async function get(url: string, timeoutMs?: number): Promise<Response> {
  const signal = timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(timeoutMs) };
  const response = await fetch(url, signal).catch((error: unknown) => {
    throw new Error(`${url} cannot be reached`, { cause: error });
  });
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return response;
}
